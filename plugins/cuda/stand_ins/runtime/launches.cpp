// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "state.h"

using stand_in::Call, stand_in::allowed, stand_in::give, stand_in::Kernel, stand_in::refuse, stand_in::state;

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;

constexpr unsigned kMostX = 2147483647, kMostOthers = 65535, kMostThreads = 1024, kMostDepth = 64;
constexpr int kMostShared = 227 << 10;

std::string text(dim3 x) {
  return std::to_string(x.x) + " x " + std::to_string(x.y) + " x " + std::to_string(x.z);
}

cudaError_t check(const Kernel& kernel, dim3 grid, dim3 block, size_t shared) {
  const auto least = std::min({grid.x, grid.y, grid.z, block.x, block.y, block.z});
  const bool fits = least > 0 && grid.x <= kMostX && std::max(grid.y, grid.z) <= kMostOthers &&
                    std::uint64_t{block.x} * block.y * block.z <= kMostThreads && block.z <= kMostDepth;
  if (!fits)
    return refuse(cudaErrorInvalidConfiguration, "launch",
                  kernel.name + ": " + text(grid) + " blocks of " + text(block) + " threads");
  if (shared <= kernel.shared) return cudaSuccess;
  return refuse(cudaErrorInvalidValue, "launch",
                kernel.name + ": " + std::to_string(shared) + " bytes of shared memory");
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are NVIDIA's
extern "C" {

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) { return 0; }
void __cudaRegisterFunction(void** /*handle*/, const char* host, char* /*device*/, const char* name,
                            int /*limit*/, void* /*thread*/, void* /*block*/, void* /*block_size*/,
                            void* /*grid_size*/, int* /*size*/) {
  const std::lock_guard hold(state().lock);
  state().kernels[host].name = name;
}
void __cudaRegisterVar(void** /*handle*/, char* host, char* /*device*/, const char* /*name*/,
                       int /*external*/, size_t bytes, int /*constant*/, int /*global*/) {
  const std::lock_guard hold(state().lock);
  state().variables[host].resize(bytes);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const auto top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  std::memcpy(stream, &top.stream, sizeof top.stream);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** /*arguments*/, size_t shared,
                             cudaStream_t stream) {
  const Call call("cudaLaunchKernel");
  const auto& kernel = state().kernels[function];
  if (const auto error = check(kernel, grid, block, shared); error != cudaSuccess) return error;
  return give(stream, "launch", kernel.name);
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* launch, const void* function, void** arguments) {
  return cudaLaunchKernel(function, launch->gridDim, launch->blockDim, arguments, launch->dynamicSmemBytes,
                          launch->stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Call call("cudaLaunchHostFunc");
  function(data);
  return give(stream, "cudaLaunchHostFunc", "");
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned /*flags*/) {
  const Call call("cudaStreamAddCallback");
  if (const auto error = allowed("cudaStreamAddCallback"); error != cudaSuccess) return error;
  function(stream, cudaSuccess, data);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  const Call call("cudaFuncGetAttributes");
  *out = {};
  out->maxThreadsPerBlock = kMostThreads;
  out->numRegs = 32;
  out->ptxVersion = out->binaryVersion = 10 * stand_in::told("STAND_IN_MAJOR", 9);
  out->maxDynamicSharedSizeBytes = static_cast<int>(state().kernels[function].shared);
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const Call call("cudaFuncSetAttribute");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  auto& kernel = state().kernels[function];
  if (value > kMostShared)
    return refuse(cudaErrorInvalidValue, "cudaFuncSetAttribute",
                  kernel.name + ": more shared memory than there is");
  kernel.shared = std::max(kernel.shared, static_cast<size_t>(value));
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* /*function*/,
                                                                   int /*threads*/, size_t /*shared*/,
                                                                   unsigned /*flags*/) {
  *out = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* /*function*/, int /*threads*/,
                                                          size_t /*shared*/) {
  *out = 2;
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
