// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cuda_plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <string_view>

namespace bora::core {
namespace {

CudaPlugin not_loaded(std::string reason) {
  CudaPlugin result;
  result.reason = std::move(reason);
  return result;
}

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

// The loader says "cannot open shared object file" both for a missing plug-in and for a missing library that
// the plug-in needs; the name in front tells which.
std::string explain(const std::string& library, const std::string& error) {
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos) {
    return fmt::format(
        "CUDA plug-in: not built: {} was not found\nhint: configure with -DBORA_CUDA=ON where nvcc is found",
        library);
  }
  return fmt::format("CUDA plug-in: {} cannot be loaded: {}", library, error);
}

}  // namespace

CudaPlugin load_cuda_plugin(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return not_loaded(explain(library, loader_error()));
  using Query = int (*)();
  auto version = reinterpret_cast<Query>(dlsym(handle, "bora_cuda_plugin_version"));
  auto device_count = reinterpret_cast<Query>(dlsym(handle, "bora_cuda_device_count"));
  if (!version || !device_count) {
    dlclose(handle);
    return not_loaded(fmt::format("CUDA plug-in: {} is not a Bora plug-in: it lacks {}", library,
                                  version ? "bora_cuda_device_count" : "bora_cuda_plugin_version"));
  }
  if (version() != kCudaPluginVersion) {
    const int found = version();
    dlclose(handle);
    return not_loaded(fmt::format(
        "CUDA plug-in: {} has version {}, this program needs {}\nhint: build both from one source tree",
        library, found, kCudaPluginVersion));
  }
  CudaPlugin result;
  result.loaded = true;
  result.version = version();
  result.device_count = device_count();
  return result;
}

}  // namespace bora::core
