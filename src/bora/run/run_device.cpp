// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_device.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/device_kernels.h"

namespace bora::run {

core::Device choose_device(std::string_view word, const mesh::LaunchEnvironment& launch) {
  const bool any = word == "auto";
  if (!any && word != "cuda") return core::parse_device(word);
  const int count = core::device_count(core::Device::Type::cuda);
  if (any && count == 0) return {};
  return {core::Device::Type::cuda, static_cast<std::int8_t>(count == 0 ? 0 : launch.local_rank % count)};
}

RunDevice::RunDevice(std::string_view who, std::string_view word, const mesh::LaunchEnvironment& launch)
    : scope_(in_context(std::string(who), [&] {
        const auto device = choose_device(word, launch);
        const core::DeviceScope is_there(device);
        return device;
      })) {}

std::string device_text() {
  const auto device = core::default_device();
  if (device == core::Device()) return "";
  return fmt::format("{} ({})", core::description(device), core::name(device));
}

std::string device_memory_text() {
  const auto device = core::default_device();
  if (device == core::Device()) return "";
  return fmt::format("{} at most on {}", human_bytes(static_cast<double>(core::device_memory(device).peak)),
                     core::name(device));
}

}  // namespace bora::run
