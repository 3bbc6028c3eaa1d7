// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// A number that the host has, or that a device has computed or will: what counts in a lane, say. Nothing
/// waits before it is asked for.
class Number {
 public:
  Number(double value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  /// Of an array with one element, as Array::item(); no gradient is taken of it.
  Number(const Array& array);  // NOLINT(google-explicit-constructor)

  const Array& array() const { return array_; }  ///< on a device; else empty
  double value() const;  ///< waits for the device, if it lies on one: of several, ReadBack waits once

 private:
  friend class ReadBack;
  Array array_;  // on a device; else empty
  double value_ = 0;
};

/// Numbers that lie on devices, brought to the host together: it waits once, not once for each of them.
///
///     ReadBack read;
///     const auto loss = read.add(a), norms = read.add(b);   // work for the device may go on between
///     read.wait();
///     use(read.value(loss), read.values(norms));
class ReadBack {
 public:
  /// The elements of an array that is whole and not changed until wait(); i64 up to 2^53. Those of the host
  /// are taken at once. Returns the place at which they will be found.
  std::size_t add(const Array& x);
  std::size_t add(const Number& x);
  /// Waits for all that was added, once for each device.
  void wait();

  /// After wait(), in row-major order.
  std::span<const double> values(std::size_t place) const;
  double value(std::size_t place) const { return values(place)[0]; }

 private:
  struct Piece {
    Array array;  // on a device, not yet read
    std::vector<double> values;
  };
  std::vector<Piece> pieces_;
};

}  // namespace bora::core
