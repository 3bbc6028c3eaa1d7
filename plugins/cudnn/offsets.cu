// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <cuda_runtime.h>

#include "offsets.h"

namespace bora::cudnn {
namespace {

__global__ void bora_offsets(std::int64_t n, const std::int32_t* starts, Multiples multiples,
                             std::int32_t* lengths, std::int32_t* offsets) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i > n) return;
  const std::int32_t at = starts[i];
  if (i < n) lengths[i] = starts[i + 1] - at;
#pragma unroll  // else the multiples are copied to the stack
  for (int row = 0; row < kMostRows; ++row)
    if (row < multiples.count) offsets[row * (n + 1) + i] = static_cast<std::int32_t>(at * multiples.of[row]);
}

}  // namespace

int write_offsets(std::int64_t n, const std::int32_t* starts, const Multiples& multiples,
                  std::int32_t* lengths, std::int32_t* offsets, void* stream) {
  constexpr unsigned kThreads = 128;
  const auto blocks = static_cast<unsigned>((n + 1 + kThreads - 1) / kThreads);
  bora_offsets<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(n, starts, multiples, lengths,
                                                                           offsets);
  return static_cast<int>(cudaGetLastError());
}

int set_device(int device, int* before) {
  if (before != nullptr)
    if (const cudaError_t status = cudaGetDevice(before); status != cudaSuccess)
      return static_cast<int>(status);
  return static_cast<int>(cudaSetDevice(device));
}

}  // namespace bora::cudnn
