// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace stand_in {
namespace {

constexpr size_t kPage = 4096;
size_t in_pages(size_t bytes) { return (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage; }

const char* kind_of(const void* where) {
  const auto* block = block_of(where);
  return block == nullptr ? "pageable" : block->of_device ? "device" : "pinned";
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaStream_t stream, const char* call) {
  const std::string from_kind = kind_of(from), to_kind = kind_of(to);
  ++state().calls["copy from " + from_kind + " to " + to_kind];
  if (of(stream).capture != nullptr && (from_kind == "pageable" || to_kind == "pageable")) {
    of(stream).capture->broken = true;
    return refuse(cudaErrorStreamCaptureUnsupported, call, "pageable memory, while it is captured");
  }
  const auto there = place_of(to, bytes, call), here = place_of(from, bytes, call);
  if (!there || !here) return cudaErrorInvalidValue;
  const Copy each{*there, *here, bytes};
  return give(stream, call, "", &each);
}

}  // namespace

const Block* block_of(const void* where) {
  const auto& blocks = state().blocks;
  auto at = blocks.upper_bound(static_cast<char*>(const_cast<void*>(where)));
  if (at == blocks.begin()) return nullptr;
  --at;
  return static_cast<const char*>(where) < at->first + at->second.bytes ? &at->second : nullptr;
}

std::optional<char*> place_of(const void* where, size_t bytes, const char* call) {
  char* place = static_cast<char*>(const_cast<void*>(where));
  const auto* block = block_of(where);
  if (block == nullptr || !block->of_device) return place;
  if (bytes == 0 || block_of(place + bytes - 1) == block) return nullptr;
  refuse(cudaErrorInvalidValue, call, "it ends behind an allocation");
  return std::nullopt;
}

}  // namespace stand_in

using stand_in::Call, stand_in::allowed, stand_in::refuse, stand_in::state;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) {
  const Call call("cudaMalloc");
  if (const auto error = allowed("cudaMalloc"); error != cudaSuccess) return error;
  auto* place = state().taken + bytes > state().total
                    ? MAP_FAILED
                    : ::mmap(nullptr, stand_in::in_pages(bytes), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return cudaErrorMemoryAllocation;
  state().blocks[static_cast<char*>(place)] = {bytes, true};
  state().taken += bytes;
  *out = place;
  return cudaSuccess;
}
cudaError_t cudaFree(void* where) {
  const Call call("cudaFree");
  if (where == nullptr) return cudaSuccess;
  if (const auto error = allowed("cudaFree"); error != cudaSuccess) return error;
  const auto at = state().blocks.find(static_cast<char*>(where));
  if (at == state().blocks.end() || !at->second.of_device)
    return refuse(cudaErrorInvalidValue, "cudaFree", "what was not allocated");
  ::munmap(where, stand_in::in_pages(at->second.bytes));
  state().taken -= at->second.bytes;
  state().blocks.erase(at);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned /*flags*/) {
  const Call call("cudaHostAlloc");
  if (const auto error = allowed("cudaHostAlloc"); error != cudaSuccess) return error;
  *out = std::aligned_alloc(stand_in::kPage, stand_in::in_pages(bytes));
  if (*out == nullptr) return cudaErrorMemoryAllocation;
  state().blocks[static_cast<char*>(*out)] = {bytes, false};
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* where) {
  const Call call("cudaFreeHost");
  if (const auto error = allowed("cudaFreeHost"); error != cudaSuccess) return error;
  if (where != nullptr && state().blocks.erase(static_cast<char*>(where)) == 0)
    return refuse(cudaErrorInvalidValue, "cudaFreeHost", "what was not allocated");
  std::free(where);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* where, size_t bytes, unsigned /*flags*/) {
  const Call call("cudaHostRegister");
  state().blocks[static_cast<char*>(where)] = {bytes, false};
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* where) {
  const Call call("cudaHostUnregister");
  state().blocks.erase(static_cast<char*>(where));
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Call call("cudaMemGetInfo");
  *total = state().total;
  *free = state().total - state().taken;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* where) {
  const Call call("cudaPointerGetAttributes");
  *out = {};
  const auto* block = stand_in::block_of(where);
  out->type = block == nullptr   ? cudaMemoryTypeUnregistered
              : block->of_device ? cudaMemoryTypeDevice
                                 : cudaMemoryTypeHost;
  out->device = block == nullptr ? cudaInvalidDeviceId : 0;
  if (block != nullptr) out->devicePointer = const_cast<void*>(where);
  if (block != nullptr && !block->of_device) out->hostPointer = const_cast<void*>(where);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  const Call call("cudaMemcpyAsync");
  return stand_in::copy(to, from, bytes, stream, "cudaMemcpyAsync");
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/) {
  const Call call("cudaMemcpy");
  if (const auto error = allowed("cudaMemcpy"); error != cudaSuccess) return error;
  return stand_in::copy(to, from, bytes, nullptr, "cudaMemcpy");
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind /*kind*/) {
  const Call call("cudaMemcpyToSymbol");
  auto& variable = state().variables[symbol];
  if (offset + bytes > variable.size())
    return refuse(cudaErrorInvalidValue, "cudaMemcpyToSymbol", "it ends behind the variable");
  std::memcpy(variable.data() + offset, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** out, const void* symbol) {
  const Call call("cudaGetSymbolAddress");
  *out = state().variables[symbol].data();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Call call("cudaMemsetAsync");
  const auto place = stand_in::place_of(to, bytes, "cudaMemsetAsync");
  if (!place) return cudaErrorInvalidValue;
  if (*place != nullptr) std::memset(*place, value, bytes);
  return stand_in::give(stream, "cudaMemsetAsync", "cudaMemsetAsync");
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
}
// NOLINTEND(readability-identifier-naming)
