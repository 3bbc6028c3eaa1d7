// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/device_extras.h"

#include <map>

#include "bora/core/device_kernels.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

std::map<Device::Type, DeviceExtras>& all_extras() {
  static std::map<Device::Type, DeviceExtras> all;
  return all;
}

}  // namespace

void register_device_extras(Device::Type type, const DeviceExtras& extras) { all_extras()[type] = extras; }

DeviceExtras device_extras(Device::Type type) {
  const auto it = all_extras().find(type);
  return it == all_extras().end() ? DeviceExtras() : it->second;
}

// Libraries for attention take bf16 and fp16.
bool keeps_scores(Device::Type type, DType dtype) {
  if (type == Device::Type::cpu || dtype != DType::f32) return false;
  const auto takes = kernels_of(type).attention.takes;
  return takes == nullptr || !takes(dtype, {1, 64, 64, 1, 1, 64}, {.scale = 1, .causal = true});
}

}  // namespace bora::core
