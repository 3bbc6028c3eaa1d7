// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A worker's device: words of what fails there, and what must be given back.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace bora::nccl {

/// Who a worker is and where its memory lies.
struct Place {
  int rank = 0, size = 1;
  int device = 0;

  /// "nccl: worker 1 of 2 (device 0): ncclSend"
  std::string at(std::string_view call) const;
  /// Throws what CUDA says of a failed call. Unsupported: no such device, no driver for it; else Stopped.
  void check(cudaError_t code, std::string_view call) const;
  /// The device's address on the bus: "0000:17:00.0", whatever number the process gives it.
  std::string identity() const;
  /// This thread's CUDA calls go to the device from here on.
  void use() const { check(cudaSetDevice(device), "cudaSetDevice"); }
};

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const noexcept {
    destroy(handle);
  }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
template <class T>
using DeviceArray = std::unique_ptr<T, Destroy<cudaFree>>;

Stream make_stream(const Place& place);
Event make_event(const Place& place);

/// Values of the worker's device, not set; null for none.
template <class T>
DeviceArray<T> make_device_array(const Place& place, std::size_t n) {
  place.use();
  void* memory = nullptr;
  if (n > 0) place.check(cudaMalloc(&memory, n * sizeof(T)), "cudaMalloc");
  return DeviceArray<T>(static_cast<T*>(memory));
}

}  // namespace bora::nccl
