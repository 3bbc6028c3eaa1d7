// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "bora/core/array.h"

namespace bora::core {

/// An array's elements where the host reads and writes them, for messages between ranks and for files: its
/// own memory if it lies there, else a copy, which goes back to the array's device at the end.
///
///     HostView values(x, HostView::Use::read);
///     communicator.exchange(peer, values.bytes(), {});
///
/// Of a shard, or of a part of a sum, these are its own elements. The array is contiguous; it may be changed
/// through several views only if they are of the same memory of the host.
class HostView {
 public:
  enum class Use : std::uint8_t {
    read,    ///< a copy is not taken back
    write,   ///< all elements are written: a copy has no values to begin with
    update,  ///< both
  };

  HostView() = default;  ///< of nothing
  HostView(const Array& x, Use use);
  HostView(HostView&& other) noexcept = default;
  HostView& operator=(HostView&& other) noexcept;
  ~HostView() { finish(); }

  std::span<std::byte> bytes() const;
  std::span<float> floats() const;  ///< InvalidArgument if the elements are none
  /// Whether the elements are a copy: whoever changes the array does not change them.
  bool copied() const { return !device_.empty(); }

  /// The end before the end: what was written goes back.
  void finish();

 private:
  Array host_;
  Array device_;  // of which `host_` is a copy; else empty
  Use use_ = Use::read;
};

}  // namespace bora::core
