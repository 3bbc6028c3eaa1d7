// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/core/device_kernels.h"

namespace bora::core {

/// Raised with every change of the functions that the plug-in exports; loader and plug-in must agree.
inline constexpr int kCudaPluginVersion = 9;

/// What opening the CUDA plug-in came to.
struct CudaPlugin {
  bool loaded = false;
  std::string reason;  ///< why it was not loaded, with the next action; empty if it was
  int version = 0;     ///< the plug-in's kCudaPluginVersion
  /// Whether it holds kernels for that GPU, on which a context is made. Not whether there is memory left, or anything else
  /// that the first array will tell.
  bool (*has_kernels)(int gpu) = nullptr;
  DeviceKernels kernels;
};

/// Opens `library` (the plug-in that `plugins/cuda` builds) and asks it for its version and kernels. A bare
/// name is looked for in the program's own plug-in folders, then where the system looks. Never throws: a
/// machine without the plug-in, a toolkit, a driver or a GPU is an ordinary machine. A loaded plug-in stays
/// loaded.
CudaPlugin load_cuda_plugin(const std::string& library = "libbora_cuda.so");

}  // namespace bora::core
