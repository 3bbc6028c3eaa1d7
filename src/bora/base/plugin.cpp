// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/plugin.h"

#include <dlfcn.h>

#include "bora/base/error.h"

namespace bora {
namespace {

std::string with_hint(const std::string& hint) { return hint.empty() ? "" : "\nhint: " + hint; }

// The loader says "cannot open shared object file" both for a missing plug-in and for a missing library that
// the plug-in needs; the name in front tells which.
[[noreturn]] void cannot_load(const std::string& library, const PluginNeed& need) {
  const char* text = dlerror();
  const std::string error = text ? text : "no reason given by the loader";
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos)
    fail(ErrorKind::Unsupported, "{}: {} was not found{}", need.absent, library, with_hint(need.build));
  fail(ErrorKind::Unsupported, "{}: {} cannot be loaded: {}{}", need.name, library, error,
       with_hint(need.repair));
}

}  // namespace

// A second dlopen of a library that is loaded is a look-up.
Plugin::Plugin(const std::string& library, const PluginNeed& need)
    : name_(need.name),
      library_(library),
      handle_(dlopen(library.c_str(), RTLD_NOW | (need.global ? RTLD_GLOBAL : RTLD_LOCAL))) {
  if (!handle_) cannot_load(library, need);
  const int version = function<int()>(need.version_symbol.c_str())();
  if (version != need.version)
    fail(ErrorKind::Unsupported,
         "{}: {} has version {}, this program needs {}\nhint: build both from one source tree", name_,
         library, version, need.version);
}

void* Plugin::find(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (!found)
    fail(ErrorKind::Unsupported, "{}: {} is not a Bora plug-in: it lacks {}", name_, library_, symbol);
  return found;
}

}  // namespace bora
