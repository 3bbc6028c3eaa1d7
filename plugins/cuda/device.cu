// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <cuda_runtime.h>

#include "device.h"

namespace bora::cuda {
namespace {

constexpr int kAnswer = 0x626f7261;

__global__ void write_answer(int* out) { *out = kAnswer; }

// A device of another architecture than the build's is visible to the driver, but fails at the launch.
bool works(int device) {
  int* memory = nullptr;
  if (cudaSetDevice(device) != cudaSuccess || cudaMalloc(&memory, sizeof(int)) != cudaSuccess) return false;
  write_answer<<<1, 1>>>(memory);
  int answer = 0;
  const bool copied = cudaGetLastError() == cudaSuccess &&
                      cudaMemcpy(&answer, memory, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(memory);
  return copied && answer == kAnswer;
}

}  // namespace

int count_working_devices() {
  int visible = 0, before = 0, working = 0;
  if (cudaGetDeviceCount(&visible) != cudaSuccess || cudaGetDevice(&before) != cudaSuccess) return 0;
  for (int device = 0; device < visible; ++device) working += works(device) ? 1 : 0;
  cudaSetDevice(before);
  return working;
}

}  // namespace bora::cuda
