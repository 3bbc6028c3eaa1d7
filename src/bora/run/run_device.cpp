// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_device.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/cuda_engine.h"
#include "bora/core/device_kernels.h"
#include "bora/train/config.h"

namespace bora::run {

core::Device choose_device(std::string_view word, const mesh::LaunchEnvironment& launch) {
  const bool any = word == "auto";
  if (any || word.starts_with("cuda"))
    core::open_cuda_engine();
  else if (!any && word != "cpu" && word != "test")
    fail(
        ErrorKind::Config,
        "device: {} is not one of auto, cpu, cuda, cuda:0, cuda:1, ...{}\nhint: auto, or leave it out; bora doctor says "
        "what is here",
        word.empty() ? "an empty word" : word, train::device_meant_by(word));
  if (!any && word != "cuda") return core::parse_device(word);
  return choose_gpu(word, launch.local_rank, core::cuda_facts(),
                    core::device_count(core::Device::Type::cuda));
}

core::Device choose_gpu(std::string_view word, int local_rank, const core::CudaFacts& facts, int usable) {
  const auto gpus = core::suitable_gpus(facts, usable);
  if (!gpus.empty()) return gpus[static_cast<std::size_t>(local_rank) % gpus.size()];
  return word == "auto" ? core::Device() : core::first_suitable_gpu(facts);
}

RunDevice::RunDevice(std::string_view who, std::string_view word, const mesh::LaunchEnvironment& launch)
    : scope_(in_context(std::string(who), [&] {
        const auto device = choose_device(word, launch);
        const core::DeviceScope is_there(device);
        return device;
      })) {}

std::string choice_text(std::string_view word, core::Device device, const core::CudaFacts& facts) {
  if (word != "auto") return "";
  if (const auto text = device_text(device); !text.empty()) return text + ", as it is there";
  if (facts.state() != core::CudaFacts::State::ready) return "CPU: " + core::summary(facts);
  auto asked = facts;
  if (asked.engine.empty()) asked.engine = core::open_cuda_engine();
  const auto refusal = core::refuse_gpu(asked, core::first_suitable_gpu(asked), 0);
  return fmt::format("CPU: {}{}{}", refusal.found, refusal.hint.empty() ? "" : "; ", refusal.hint);
}

std::string cpu_instead(std::string_view word, core::Device device) {
  const std::string other = "trainer.device: cpu";
  return word == "auto" ? fmt::format("{} (auto took {}, as it is there)", other, core::name(device)) : other;
}

std::string why_no_fp8(core::Device device, const core::CudaFacts& facts) {
  if (device == core::Device()) {
    return fmt::format(
        "needs a GPU of compute capability {}, and this run computes on the CPU; trainer.device: cuda, or leave fp8 out",
        core::text(core::kFp8Capability));
  }
  const std::size_t at = static_cast<std::uint8_t>(device.index);
  if (device.type != core::Device::Type::cuda || at >= facts.gpus.size()) return "";
  const auto& gpu = facts.gpus[at];
  if (!(gpu.capability < core::kFp8Capability)) return "";
  return fmt::format("needs compute capability {}, and {} ({}) has {}; leave fp8 out to train in bf16",
                     core::text(core::kFp8Capability), gpu.name, core::name(device),
                     core::text(gpu.capability));
}

std::optional<DeviceRoom> device_room(core::Device device) {
  if (device == core::Device()) return std::nullopt;
  const auto room = [](std::int64_t total, std::int64_t free) {
    return DeviceRoom{static_cast<double>(total), static_cast<double>(free)};
  };
  const auto memory = core::device_memory(device);
  if (memory.total > 0) return room(memory.total, memory.free);
  if (device.type != core::Device::Type::cuda) return std::nullopt;
  const auto gpus = core::cuda_facts().gpus;
  const std::size_t at = static_cast<std::uint8_t>(device.index);
  if (at >= gpus.size() || gpus[at].memory == 0) return std::nullopt;
  return room(gpus[at].memory, gpus[at].free.value_or(gpus[at].memory));
}

std::string device_text(core::Device device) {
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
