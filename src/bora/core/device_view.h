// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For messages that lie in the memory of a device: what reads and writes there is no operation of core's.
#pragma once
#include <cstddef>
#include <span>

#include "bora/core/array.h"
#include "bora/core/device.h"
#include "bora/core/host_view.h"

namespace bora::core {

/// The addresses of an array's elements on its device, for a transport that reads and writes there: the host must not.
/// Of a shard, or of a part of a sum, these are its own elements. The array is contiguous.
class DeviceView {
 public:
  DeviceView() = default;  ///< of nothing
  DeviceView(const Array& x, HostView::Use use);
  DeviceView(DeviceView&& other) noexcept = default;
  DeviceView& operator=(DeviceView&& other) noexcept;
  ~DeviceView() { finish(); }

  std::span<std::byte> bytes() const;
  /// The end before the end: what was written counts as a change of the array.
  void finish();

 private:
  Array array_;
  HostView::Use use_ = HostView::Use::read;
};

/// The stream that this thread's operations on a device are given to, as the device's own library has it (cudaStream_t).
void* stream_of(Device device);

}  // namespace bora::core
