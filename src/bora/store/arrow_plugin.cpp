// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/arrow_plugin.h"

#include <dlfcn.h>

namespace bora::store {
namespace {

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

[[noreturn]] void cannot_load(const ArrowNeed& need, const std::string& library) {
  const auto error = loader_error();
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos) {
    fail(ErrorKind::Unsupported,
         "{}: {} is not built into this program: {} was not found\n"
         "hint: scripts/setup.sh --arrow, then build again; {}",
         need.path, need.what, library, need.otherwise);
  }
  fail(ErrorKind::Unsupported,
       "{}: {} cannot be loaded: {}\nhint: scripts/setup.sh --arrow, then build again", need.path, library,
       error);
}

void* symbol(void* handle, const std::string& library, const char* name) {
  void* found = dlsym(handle, name);
  if (!found)
    fail(ErrorKind::Unsupported, "Arrow plug-in: {} is not a Bora plug-in: it lacks {}", library, name);
  return found;
}

}  // namespace

void* arrow_function(const ArrowNeed& need, const std::string& library, const char* name) {
  // A second dlopen of a library that is loaded is a look-up; it stays loaded.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) cannot_load(need, library);
  const int version = reinterpret_cast<int (*)()>(symbol(handle, library, "bora_arrow_plugin_version"))();
  if (version != kArrowPluginVersion) {
    fail(ErrorKind::Unsupported,
         "Arrow plug-in: {} has version {}, this program needs {}\nhint: build both from one source tree",
         library, version, kArrowPluginVersion);
  }
  return symbol(handle, library, name);
}

}  // namespace bora::store
