// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cuda_facts.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "bora/base/text.h"

namespace bora::core {
namespace {

// The driver's interface, as far as it is asked: its library comes with the driver, headers with a toolkit that
// a machine need not have. The names are those of its binary interface.
using Result = int;
constexpr Result kSuccess = 0, kStubLibrary = 34, kNoDevice = 100;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*

class Library {
 public:
  explicit Library(const std::string& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  explicit operator bool() const { return handle_ != nullptr; }

  /// What `name` returns; -1 if there is no such function.
  template <class... Args>
  Result call(const char* name, Args... args) const {
    void* found = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
    return found == nullptr ? -1 : reinterpret_cast<Result (*)(Args...)>(found)(args...);
  }

 private:
  void* handle_;  // stays open: drivers do not like to be closed
};

CudaVersion version_of(int number) { return {number / 1000, number % 1000 / 10}; }

std::string word_of(const Library& driver, Result result) {
  const char* word = nullptr;
  const bool told = driver.call("cuGetErrorName", result, &word) == kSuccess && word != nullptr;
  return told ? word : fmt::format("error {}", result);
}

// Of NVML, which needs no context on a GPU to say what is free there.
class Management {
 public:
  explicit Management(const std::string& file)
      : library_(file), works_(library_ && library_.call("nvmlInit_v2") == kSuccess) {}
  ~Management() {
    if (works_) library_.call("nvmlShutdown");
  }
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;

  std::string driver() const {
    std::array<char, 81> text{};
    const bool told =
        works_ && library_.call("nvmlSystemGetDriverVersion", text.data(), unsigned{80}) == kSuccess;
    return told ? text.data() : "";
  }
  std::optional<std::int64_t> free_on(const char* bus) const {
    struct Memory {
      unsigned long long total, free, used;
    } memory{};
    void* gpu = nullptr;
    if (!works_ || library_.call("nvmlDeviceGetHandleByPciBusId_v2", bus, &gpu) != kSuccess ||
        library_.call("nvmlDeviceGetMemoryInfo", gpu, &memory) != kSuccess)
      return std::nullopt;
    return static_cast<std::int64_t>(memory.free);
  }

 private:
  Library library_;
  bool works_;
};

GpuFacts gpu_at(const Library& driver, const Management& management, int index) {
  GpuFacts out;
  int gpu = 0;
  std::array<char, 257> name{};
  std::array<char, 65> bus{};
  std::size_t bytes = 0;
  driver.call("cuDeviceGet", &gpu, index);
  if (driver.call("cuDeviceGetName", name.data(), 256, gpu) == kSuccess) out.name = name.data();
  driver.call("cuDeviceGetAttribute", &out.capability.major, kCapabilityMajor, gpu);
  driver.call("cuDeviceGetAttribute", &out.capability.minor, kCapabilityMinor, gpu);
  if (driver.call("cuDeviceTotalMem_v2", &bytes, gpu) == kSuccess)
    out.memory = static_cast<std::int64_t>(bytes);
  if (driver.call("cuDeviceGetPCIBusId", bus.data(), 64, gpu) == kSuccess)
    out.free = management.free_on(bus.data());
  if (out.free) out.free = std::min(*out.free, out.memory);  // of a part of a GPU that is cut up
  return out;
}

std::string all_of(const std::vector<GpuFacts>& gpus) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gpus.size(); ++i) names.push_back(fmt::format("cuda:{} {}", i, gpus[i].name));
  return join(names, ", ");
}

std::string count_of(std::size_t gpus) { return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s"); }

// What to take in place of a GPU that is too old.
std::string newer_than(const CudaFacts& facts) {
  const auto newer = suitable_gpus(facts, static_cast<int>(facts.gpus.size()));
  if (newer.empty()) return "take a newer GPU";
  const auto& gpu = facts.gpus[static_cast<std::uint8_t>(newer[0].index)];
  return fmt::format("take a newer GPU: {} {}", name(newer[0]), gpu.name);
}

}  // namespace

bool suits(const GpuFacts& gpu) { return !(gpu.capability < kLeastCapability); }

std::vector<Device> suitable_gpus(const CudaFacts& facts, int usable) {
  std::vector<Device> out;
  const auto last = std::min<std::size_t>(facts.gpus.size(), static_cast<std::size_t>(usable));
  for (std::size_t i = 0; i < last; ++i)
    if (suits(facts.gpus[i])) out.push_back({Device::Type::cuda, static_cast<std::int8_t>(i)});
  return out;
}

Device first_suitable_gpu(const CudaFacts& facts) {
  const auto all = suitable_gpus(facts, static_cast<int>(facts.gpus.size()));
  return all.empty() ? Device{Device::Type::cuda, 0} : all[0];
}

GpuRefusal refuse_gpu(const CudaFacts& facts, Device device, int usable) {
  const std::size_t at = static_cast<std::uint8_t>(device.index);
  const auto install = fmt::format("install a driver for CUDA {} or newer", text(kCudaOfBuild));
  switch (facts.state()) {
    case CudaFacts::State::no_driver:
      return {"this machine has no NVIDIA driver (libcuda.so.1 was not found)", install};
    case CudaFacts::State::old_driver:
      return {fmt::format("the NVIDIA {} is too old: this program needs CUDA {}", describe_driver(facts),
                          text(kCudaOfBuild)),
              install};
    case CudaFacts::State::driver_fails:
      return {fmt::format("the NVIDIA {} does not start: {}", describe_driver(facts), facts.failure),
              "see whether nvidia-smi works, and start the machine again after an update of the driver"};
    case CudaFacts::State::no_gpu:
      return {fmt::format("the NVIDIA {} sees no GPU", describe_driver(facts)),
              "look at what nvidia-smi shows, and whether CUDA_VISIBLE_DEVICES hides them"};
    case CudaFacts::State::old_gpu:
    case CudaFacts::State::ready:
      break;
  }
  if (at >= facts.gpus.size())
    return {fmt::format("this machine has {}: {}", count_of(facts.gpus.size()), all_of(facts.gpus)),
            "take one of these, or cuda for the first that is new enough"};
  const auto& gpu = facts.gpus[at];
  if (!suits(gpu))
    return {fmt::format("{} has compute capability {}, and this program needs {} or more", gpu.name,
                        text(gpu.capability), text(kLeastCapability)),
            newer_than(facts)};
  if (usable > 0)
    return {fmt::format("this program computes on {} of {}", usable, all_of(facts.gpus)),
            "take one before it, or cuda for the first that is new enough"};
  if (facts.engine.empty()) return {gpu.name + " has not been opened", ""};
  return {fmt::format("of {}: {}", gpu.name, facts.engine),
          "install Bora's wheel beside PyPI's torch 2.11.0, which has it, and look at what bora doctor says"};
}

std::string text(CudaVersion version) { return fmt::format("{}.{}", version.major, version.minor); }

CudaFacts::State CudaFacts::state() const {
  if (!has_driver) return State::no_driver;
  if (cuda < kCudaOfBuild) return State::old_driver;
  if (!failure.empty()) return State::driver_fails;
  if (gpus.empty()) return State::no_gpu;
  return std::any_of(gpus.begin(), gpus.end(), suits) ? State::ready : State::old_gpu;
}

std::string_view name(CudaFacts::State state) {
  constexpr std::array<std::string_view, 6> kNames = {"no_driver", "old_driver", "driver_fails",
                                                      "no_gpu",    "old_gpu",    "ready"};
  return kNames[static_cast<std::size_t>(state)];
}

CudaFacts cuda_facts(const std::string& driver_file, const std::string& management_file) {
  CudaFacts out;
  const Library driver(driver_file);
  int version = 0, count = 0;
  if (!driver || driver.call("cuDriverGetVersion", &version) == kStubLibrary) return out;
  out.has_driver = true;
  out.cuda = version_of(version);
  const Management management(management_file);
  out.driver = management.driver();
  auto result = driver.call("cuInit", unsigned{0});
  if (result == kStubLibrary) return {};
  if (result == kNoDevice) return out;
  if (result == kSuccess) result = driver.call("cuDeviceGetCount", &count);
  if (result != kSuccess) {
    out.failure = word_of(driver, result);
    return out;
  }
  for (int i = 0; i < count; ++i) out.gpus.push_back(gpu_at(driver, management, i));
  return out;
}

std::string describe(const GpuFacts& gpu) {
  const auto bytes = [](std::int64_t n) { return human_bytes(static_cast<double>(n)); };
  return fmt::format("{} · capability {} · {}{}", gpu.name, text(gpu.capability), bytes(gpu.memory),
                     gpu.free ? fmt::format(", {} free", bytes(*gpu.free)) : "");
}

std::string describe_driver(const CudaFacts& facts) {
  if (!facts.has_driver) return "no driver";
  return fmt::format("driver{} (CUDA {})", facts.driver.empty() ? "" : " " + facts.driver, text(facts.cuda));
}

std::string summary(const CudaFacts& facts) {
  switch (facts.state()) {
    case CudaFacts::State::no_driver:
      return "no NVIDIA driver";
    case CudaFacts::State::old_driver:
      return fmt::format("{} is too old: CUDA {} is needed", describe_driver(facts), text(kCudaOfBuild));
    case CudaFacts::State::driver_fails:
      return fmt::format("{} does not start: {}", describe_driver(facts), facts.failure);
    case CudaFacts::State::no_gpu:
      return describe_driver(facts) + " sees no GPU";
    case CudaFacts::State::old_gpu:
      return fmt::format("{}; capability {} is needed", describe(facts.gpus[0]), text(kLeastCapability));
    case CudaFacts::State::ready:
      break;
  }
  const auto n = facts.gpus.size();
  return (n == 1 ? "" : count_of(n) + ", the first ") + describe(facts.gpus[0]);
}

std::string why_no_gpu(const CudaFacts& facts, Device device, int usable) {
  const auto [found, hint] = refuse_gpu(facts, device, usable);
  return fmt::format("{} is asked for, but {}\nhint: {}", name(device), found,
                     hint.empty() ? "say cpu, or auto" : hint + ", or say cpu");
}

}  // namespace bora::core
