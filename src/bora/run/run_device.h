// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

#include "bora/core/device.h"
#include "bora/mesh/launch.h"

namespace bora::run {

/// The device that a word of trainer.device names for this rank. `auto` is a GPU if this program can use one,
/// else the CPU. Of `auto` and `cuda` the ranks of a host take its GPUs in turn.
core::Device choose_device(std::string_view word, const mesh::LaunchEnvironment& launch);

/// While it lives, this thread's arrays are made on that device. Before ranks join, so that they compare the
/// arithmetic of their devices. Unsupported, with `who` in front, if there is none of its kind.
class RunDevice {
 public:
  RunDevice(std::string_view who, std::string_view word,
            const mesh::LaunchEnvironment& launch = mesh::launch_environment());

 private:
  core::DeviceScope scope_;
};

/// For a reader: "NVIDIA H100 80GB (cuda:0)"; empty on the CPU.
std::string device_text();
/// "2.1 GB at most on cuda:0"; empty on the CPU.
std::string device_memory_text();

}  // namespace bora::run
