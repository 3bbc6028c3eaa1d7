// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One GPU, as large as an H100 and of its capability, or of STAND_IN_MAJOR.0; of several the first may have a
// STAND_IN_MAJOR_OF_FIRST of its own.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "state.h"

using stand_in::Call, stand_in::refuse, stand_in::state, stand_in::told;

namespace {

constexpr int kMultiprocessors = 132;
int gpus() { return told("STAND_IN_GPUS", 1); }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = stand_in::current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus())
    return refuse(cudaErrorInvalidDevice, "cudaSetDevice", std::to_string(device));
  stand_in::current_device() = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  std::memset(out, 0, sizeof *out);
  std::snprintf(out->name, sizeof out->name, "Stand-in %d", device);
  out->totalGlobalMem = state().total;
  out->sharedMemPerBlock = 48 << 10;
  out->sharedMemPerBlockOptin = 227 << 10;
  out->sharedMemPerMultiprocessor = 228 << 10;
  out->reservedSharedMemPerBlock = 1 << 10;
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->warpSize = 32;
  out->maxThreadsPerBlock = out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 2147483647;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->totalConstMem = 65536;
  const int major = told("STAND_IN_MAJOR", 9);
  out->major = device == 0 ? told("STAND_IN_MAJOR_OF_FIRST", major) : major;
  out->textureAlignment = 512;
  out->multiProcessorCount = kMultiprocessors;
  out->unifiedAddressing = out->canMapHostMemory = out->concurrentKernels = out->managedMemory = 1;
  out->memoryBusWidth = 5120;
  out->l2CacheSize = 50 << 20;
  out->maxThreadsPerMultiProcessor = 2048;
  out->maxBlocksPerMultiProcessor = 32;
  out->asyncEngineCount = 3;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp all;
  cudaGetDeviceProperties(&all, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *value = all.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(all.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(all.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(all.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = static_cast<int>(all.reservedSharedMemPerBlock);
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = all.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = all.maxGridSize[0];
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = all.maxGridSize[1];
      break;
    case cudaDevAttrWarpSize:
      *value = all.warpSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = all.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrL2CacheSize:
      *value = all.l2CacheSize;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = all.regsPerBlock;
      break;
    default:
      *value = 1;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* out, int room, int device) {
  std::snprintf(out, static_cast<size_t>(room), "0000:%02d:00.0",
                device + 7);  // as the driver's stand-in says
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned /*version*/,
                                             unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* found) {
  const Call call("cudaGetDriverEntryPointByVersion");
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  *function = driver == nullptr ? nullptr : ::dlsym(driver, name);
  const bool there = *function != nullptr;
  if (found != nullptr) *found = there ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return there ? cudaSuccess : refuse(cudaErrorSymbolNotFound, "cudaGetDriverEntryPointByVersion", name);
}
}
// NOLINTEND(readability-identifier-naming)
