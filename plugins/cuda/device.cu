// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "device.h"

#include <cuda_runtime.h>

namespace bora::cuda {
namespace {

// As all of the build's, for whose architectures it is compiled.
__global__ void any_kernel() {}

bool is_of_another_architecture(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
         error == cudaErrorInvalidKernelImage || error == cudaErrorInvalidPtx ||
         error == cudaErrorUnsupportedPtxVersion;
}

}  // namespace

// An error that is answered here is not told once more by the next call.
bool has_kernels(int gpu) {
  int before = 0;
  cudaFuncAttributes found;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess) {
    error = cudaSetDevice(gpu);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&found, any_kernel);
    cudaSetDevice(before);
  }
  cudaGetLastError();
  return !is_of_another_architecture(error);
}

}  // namespace bora::cuda
