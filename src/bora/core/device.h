// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// Where an array's elements lie, and where operations on it are computed. A value, not a type: all operands
/// of an operation are on one device, and its result is there too; nothing moves by itself but to().
struct Device {
  /// test: a device of the tests, in memory that the host must not touch (plugins/fake_device).
  enum class Type : std::uint8_t { cpu, cuda, test };
  Type type = Type::cpu;
  std::int8_t index = 0;  ///< which of several GPUs

  bool operator==(const Device&) const = default;
};

std::string name(Device device);             ///< "cpu", "cuda:1", "test"
Device parse_device(std::string_view text);  ///< also "cuda" for "cuda:0"; Config error otherwise

Device device_of(const Array& x);

/// x on `device`: x itself if it is there. Recorded: the gradient goes back to where x is. Unsupported if the
/// program has no such device.
Array to(const Array& x, Device device);

/// While it lives, this thread's new arrays are made on `device`: zeros, arange, random values (drawn on the
/// host: the same values everywhere), from_data. Of several GPUs it is the thread's own, and arrays on another one are
/// only copied. Unsupported if the program has no such device.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device before_;
  std::int8_t own_before_ = 0;  ///< which GPU was the thread's own
};

/// Where this thread makes new arrays: the CPU outside of any scope.
Device default_device();

}  // namespace bora::core
