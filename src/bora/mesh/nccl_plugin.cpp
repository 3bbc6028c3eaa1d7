// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/nccl_plugin.h"

#include <dlfcn.h>

#include <type_traits>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

constexpr int kNoDevice = 77;

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

// The loader says "cannot open shared object file" both for a missing plug-in and for a missing libnccl; the
// name in front tells which.
void* load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle) return handle;
  const auto error = loader_error();
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos)
    fail(ErrorKind::Unsupported,
         "NCCL plug-in: not built: {} was not found\n"
         "hint: configure with -DBORA_CUDA=ON where nvcc, nccl.h and libnccl are found",
         library);
  fail(ErrorKind::Unsupported, "NCCL plug-in: {} cannot be loaded: {}", library, error);
}

template <class F>
F* symbol(void* handle, const std::string& library, const char* name) {
  void* found = dlsym(handle, name);
  if (!found)
    fail(ErrorKind::Unsupported, "NCCL plug-in: {} is not a Bora plug-in: it lacks {}", library, name);
  return reinterpret_cast<F*>(found);
}

struct Plugin {
  int (*check)(char* words, std::size_t room);
  int (*make_id)(NcclId* id, char* error, std::size_t room);
  Transport* (*open)(int rank, int size, const NcclId* id, int device, double limit_seconds, char* error,
                     std::size_t room);
};

Plugin open_plugin(const std::string& library) {
  void* handle = load(library);
  const int version = symbol<int()>(handle, library, "bora_nccl_plugin_version")();
  if (version != kNcclPluginVersion)
    fail(ErrorKind::Unsupported,
         "NCCL plug-in: {} has version {}, this program needs {}\nhint: build both from one source tree",
         library, version, kNcclPluginVersion);
  Plugin plugin{};
  const auto find = [&](auto& function, const char* name) {
    function =
        symbol<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(handle, library, name);
  };
  find(plugin.check, "bora_nccl_check");
  find(plugin.make_id, "bora_nccl_make_id");
  find(plugin.open, "bora_nccl_open");
  return plugin;
}

}  // namespace

NcclCheck check_nccl(const std::string& library) {
  try {
    const auto plugin = open_plugin(library);
    std::array<char, 4096> words{};
    const int outcome = plugin.check(words.data(), words.size());
    using Outcome = NcclCheck::Outcome;
    return {outcome == 0 ? Outcome::right : (outcome == kNoDevice ? Outcome::no_device : Outcome::wrong),
            words.data()};
  } catch (const Error& e) {
    return {NcclCheck::Outcome::no_plugin, e.what()};
  }
}

std::unique_ptr<Transport> open_nccl_transport(Communicator& world, const NcclOptions& options) {
  const auto plugin = open_plugin(options.library);
  std::array<char, 4096> error{};
  NcclId id{};
  if (world.rank() == 0 && plugin.make_id(&id, error.data(), error.size()) != 0)
    fail(ErrorKind::Unsupported, "NCCL plug-in: {}", error.data());
  world.broadcast(0, id);
  std::unique_ptr<Transport> transport(plugin.open(world.rank(), world.size(), &id, options.device,
                                                   options.deadline_seconds, error.data(), error.size()));
  if (!transport)
    fail(ErrorKind::Unsupported, "NCCL plug-in: {}\nhint: a device of its own for each worker of a host",
         error.data());
  return transport;
}

}  // namespace bora::mesh
