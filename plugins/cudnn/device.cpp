// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "device.h"

#include <cuda_runtime_api.h>

namespace bora::cudnn {

int set_device(int device, int* before) {
  if (before != nullptr)
    if (const cudaError_t status = cudaGetDevice(before); status != cudaSuccess)
      return static_cast<int>(status);
  return static_cast<int>(cudaSetDevice(device));
}

}  // namespace bora::cudnn
