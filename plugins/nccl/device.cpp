// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "device.h"

#include <array>

#include "bora/base/error.h"

namespace bora::nccl {
namespace {

bool nothing_there(cudaError_t code) {
  return code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver || code == cudaErrorInvalidDevice ||
         code == cudaErrorNoKernelImageForDevice;
}

}  // namespace

std::string Place::at(std::string_view call) const {
  return fmt::format("nccl: worker {} of {} (device {}): {}", rank, size, device, call);
}

void Place::check(cudaError_t code, std::string_view call) const {
  if (code == cudaSuccess) return;
  fail(nothing_there(code) ? ErrorKind::Unsupported : ErrorKind::Stopped, "{}: {}", at(call),
       cudaGetErrorString(code));
}

std::string Place::identity() const {
  std::array<char, 64> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device), "cudaDeviceGetPCIBusId");
  return bus.data();
}

Stream make_stream(const Place& place) {
  cudaStream_t stream = nullptr;
  place.check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

Event make_event(const Place& place) {
  cudaEvent_t event = nullptr;
  place.check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return Event(event);
}

}  // namespace bora::nccl
