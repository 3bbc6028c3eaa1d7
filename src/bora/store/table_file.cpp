// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/table_file.h"

#include <dlfcn.h>

#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::store {
namespace {

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

[[noreturn]] void cannot_load(const std::string& path, const std::string& library) {
  const auto error = loader_error();
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos) {
    fail(ErrorKind::Unsupported,
         "{}: reading Parquet and Arrow is not built into this program: {} was not found\n"
         "hint: scripts/setup.sh --arrow, then build again; or convert the file to jsonl",
         path, library);
  }
  fail(ErrorKind::Unsupported,
       "{}: {} cannot be loaded: {}\nhint: scripts/setup.sh --arrow, then build again", path, library, error);
}

template <class F>
F* symbol(void* handle, const std::string& library, const char* name) {
  void* found = dlsym(handle, name);
  if (!found)
    fail(ErrorKind::Unsupported, "Arrow plug-in: {} is not a Bora plug-in: it lacks {}", library, name);
  return reinterpret_cast<F*>(found);
}

}  // namespace

std::unique_ptr<TableFile> open_table(const std::string& path, const std::string& library) {
  // A second dlopen of a library that is loaded is a look-up; it stays loaded.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) cannot_load(path, library);
  const int version = symbol<int()>(handle, library, "bora_arrow_plugin_version")();
  if (version != kArrowPluginVersion) {
    fail(ErrorKind::Unsupported,
         "Arrow plug-in: {} has version {}, this program needs {}\nhint: build both from one source tree",
         library, version, kArrowPluginVersion);
  }
  auto* open = symbol<TableFile*(const char*, ReadFile*, int*, char*, std::size_t)>(handle, library,
                                                                                    "bora_arrow_open");
  auto file = files().open(path);
  std::array<char, 4096> error{};
  int kind = 0;
  std::unique_ptr<TableFile> table(open(path.c_str(), file.release(), &kind, error.data(), error.size()));
  if (!table) fail(static_cast<ErrorKind>(kind), "{}", error.data());
  return table;
}

}  // namespace bora::store
