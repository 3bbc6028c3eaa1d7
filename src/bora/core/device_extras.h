// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a device's libraries take of its memory beside the arrays of a program, for plans.
#pragma once
#include <cstdint>

#include "bora/core/device.h"
#include "bora/core/dtype.h"

namespace bora::core {

/// Bytes. The first are arrays of its allocator, and so part of DeviceMemory; the others are not.
struct DeviceExtras {
  std::int64_t of_each_stream =
      0;                    ///< workspaces of libraries, for each stream that products are computed on
  std::int64_t beside = 0;  ///< its context with the code of kernels, about
};
void register_device_extras(Device::Type type, const DeviceExtras& extras);
DeviceExtras device_extras(Device::Type type);

/// Whether attention in such a type is computed by plain operations there, which keep numbers of all pairs of positions.
bool keeps_scores(Device::Type type, DType dtype);

}  // namespace bora::core
