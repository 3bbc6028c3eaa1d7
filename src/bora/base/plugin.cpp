// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/plugin.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "bora/base/env.h"
#include "bora/base/error.h"

namespace bora {
namespace {

std::string with_hint(const std::string& hint) { return hint.empty() ? "" : "\nhint: " + hint; }

void* opened(const std::string& library, const PluginNeed& need) {
  return dlopen(library.c_str(), RTLD_NOW | (need.global ? RTLD_GLOBAL : RTLD_LOCAL));
}

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

// The loader says "cannot open shared object file" both for a missing plug-in and for a missing library that
// the plug-in needs; the name in front tells which.
bool is_absent(const std::string& library, const std::string& error) {
  return error.starts_with(library + ":") && error.find("No such file") != std::string::npos;
}

// The script says on standard error what it does; what it prints must not get among a command's results.
bool set_up(const std::string& checkout, const std::string& plugin) {
  auto script = checkout + "/scripts/plugin.sh", name = plugin;
  std::array<char*, 3> arguments = {script.data(), name.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = -1;
  const bool started =
      posix_spawn(&child, script.c_str(), &actions, nullptr, arguments.data(), env::inherited()) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void* open_plugin(const std::string& library, const PluginNeed& need) {
  if (void* handle = opened(library, need)) return handle;
  auto error = loader_error();
  const auto checkout = need.setup.empty() ? std::nullopt : env::checkout();
  if (checkout && is_absent(library, error) && set_up(*checkout, need.setup)) {
    if (void* handle = opened(library, need)) return handle;
    error = loader_error();
  }
  if (is_absent(library, error))
    fail(ErrorKind::Unsupported, "{}: {} was not found{}", need.absent, library, with_hint(need.build));
  fail(ErrorKind::Unsupported, "{}: {} cannot be loaded: {}{}", need.name, library, error,
       with_hint(need.repair));
}

}  // namespace

// A second dlopen of a library that is loaded is a look-up.
Plugin::Plugin(const std::string& library, const PluginNeed& need)
    : name_(need.name), library_(library), handle_(open_plugin(library, need)) {
  const int version = function<int()>(need.version_symbol.c_str())();
  if (version != need.version)
    fail(ErrorKind::Unsupported,
         "{}: {} has version {}, this program needs {}\nhint: build both from one source tree", name_,
         library, version, need.version);
}

bool Plugin::is_there(const std::string& library) { return opened(library, {}) != nullptr; }

void* Plugin::find(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (!found)
    fail(ErrorKind::Unsupported, "{}: {} is not a Bora plug-in: it lacks {}", name_, library_, symbol);
  return found;
}

}  // namespace bora
