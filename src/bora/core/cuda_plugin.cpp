// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cuda_plugin.h"

#include "bora/base/error.h"
#include "bora/base/plugin.h"

namespace bora::core {

CudaPlugin load_cuda_plugin(const std::string& library) {
  CudaPlugin result;
  try {
    const Plugin plugin(library, {.name = "CUDA plug-in",
                                  .version_symbol = "bora_cuda_plugin_version",
                                  .version = kCudaPluginVersion,
                                  .absent = "CUDA plug-in: not built",
                                  .build = "configure with -DBORA_CUDA=ON where nvcc is found"});
    result.has_kernels = plugin.function<bool(int)>("bora_cuda_has_kernels");
    plugin.function<void(DeviceKernels*)>("bora_cuda_kernels")(&result.kernels);
    result.version = kCudaPluginVersion;
    result.loaded = true;
  } catch (const Error& e) {
    result.reason = e.what();
  }
  return result;
}

}  // namespace bora::core
