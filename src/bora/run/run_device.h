// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "bora/core/cuda_facts.h"
#include "bora/core/device.h"
#include "bora/mesh/launch.h"

namespace bora::run {

/// The device that a word of trainer.device names for this rank. `cuda` and `auto` open libtorch's part for CUDA, and
/// the ranks of a host take in turn its GPUs that can be computed on, not those that are too old. Where there is none,
/// `auto` takes the CPU, and `cuda` a GPU of which RunDevice says why it cannot be had.
core::Device choose_device(std::string_view word, const mesh::LaunchEnvironment& launch);
/// Of `auto` or `cuda`, where these GPUs are there; `usable` as core::suitable_gpus() has it.
core::Device choose_gpu(std::string_view word, int local_rank, const core::CudaFacts& facts, int usable);

/// While it lives, this thread's arrays are made on that device. Before ranks join, so that they compare the
/// arithmetic of their devices. Unsupported, with `who` in front, if there is none of its kind.
class RunDevice {
 public:
  RunDevice(std::string_view who, std::string_view word,
            const mesh::LaunchEnvironment& launch = mesh::launch_environment());

 private:
  core::DeviceScope scope_;
};

/// Why the word `auto` has come to a device, for a run's first lines: "CPU: no NVIDIA driver". Empty of every
/// other word, which says it itself.
std::string choice_text(std::string_view word, core::Device device = core::default_device(),
                        const core::CudaFacts& facts = core::cuda_facts());

/// For the hint of an error that the CPU would not have: "trainer.device: cpu", and that `auto` took the device.
std::string cpu_instead(std::string_view word, core::Device device);

/// Why a device does not multiply in fp8 (trainer.fp8), with the next action; empty where it does.
std::string why_no_fp8(core::Device device, const core::CudaFacts& facts = core::cuda_facts());

/// Bytes of a device, as far as it or its driver tells; nothing of the CPU, and where nobody tells.
struct DeviceRoom {
  double total = 0, free = 0;
};
std::optional<DeviceRoom> device_room(core::Device device);

/// For a reader: "NVIDIA H100 80GB (cuda:0)"; empty of the CPU.
std::string device_text(core::Device device = core::default_device());
/// "2.1 GB at most on cuda:0"; empty on the CPU.
std::string device_memory_text();

}  // namespace bora::run
