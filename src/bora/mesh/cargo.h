// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "bora/core/array.h"
#include "bora/core/device_view.h"
#include "bora/core/host_view.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// An array's elements as messages between workers: the one place that knows whether these lie in the memory of the
/// array's device, because the workers' communicator carries it, or in the host's, where the array lies or has a copy
/// that goes back at the end. The array is contiguous.
///
///     Cargo out(workers, x, Use::read), in(workers, y, Use::write);
///     workers.exchange_all(std::vector{out.to(1), in.from(1)});
///     in.finish();
class Cargo {
 public:
  using Use = core::HostView::Use;

  Cargo() = default;  ///< of nothing
  Cargo(const Communicator& workers, const core::Array& x, Use use);

  Message to(int peer) const { return {peer, bytes(), {}, memory_}; }
  Message from(int peer) const { return {peer, {}, bytes(), memory_}; }
  // Of `count` elements from `first` on, in row-major order.
  Message to(int peer, std::int64_t first, std::int64_t count) const;
  Message from(int peer, std::int64_t first, std::int64_t count) const;

  std::span<std::byte> bytes() const;
  std::span<float> floats() const;
  Memory memory() const { return memory_; }

  /// The end before the end: what came is the array's.
  void finish();

 private:
  std::span<std::byte> part(std::int64_t first, std::int64_t count) const;

  core::HostView host_;
  core::DeviceView device_;
  Memory memory_ = Memory::host;
  std::int64_t elements_ = 0;
  std::size_t width_ = 1;  // bytes of an element
};

}  // namespace bora::mesh
