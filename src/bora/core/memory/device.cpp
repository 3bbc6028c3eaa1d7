// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/device.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <charconv>

#include "bora/base/error.h"
#include "bora/core/cuda_engine.h"
#include "bora/core/cuda_facts.h"
#include "bora/core/device_kernels.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

thread_local Device current;

// libtorch opens it beside newer ones. Asked of every array that is moved: the driver is asked once.
bool is_too_old(Device device) {
  if (device.type != Device::Type::cuda) return false;
  static const auto gpus = cuda_facts().gpus;
  const std::size_t at = static_cast<std::uint8_t>(device.index);
  return at < gpus.size() && !suits(gpus[at]);
}

void require_there(Device device) {
  if (device.type == Device::Type::cpu) return;
  const int count = device_count(device.type);
  if (device.index < count && !is_too_old(device)) return look_at_kernels(device);
  if (device.type == Device::Type::cuda) {
    auto facts = cuda_facts();
    facts.engine = open_cuda_engine();
    fail(ErrorKind::Unsupported, "device: {}", why_no_gpu(facts, device, count));
  }
  fail(ErrorKind::Unsupported,
       "device: {} is asked for, but this program has none of its kind\n"
       "hint: the tests load the plug-in fake_device",
       name(device));
}

}  // namespace

std::string name(Device device) {
  switch (device.type) {
    case Device::Type::cpu:
      return "cpu";
    case Device::Type::cuda:
      return fmt::format("cuda:{}", device.index);
    case Device::Type::test:
      return "test";
  }
  return {};
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "test") return {Device::Type::test, 0};
  if (text == "cuda") return {Device::Type::cuda, 0};
  Device device{Device::Type::cuda, 0};
  const std::string_view prefix = "cuda:";
  const char* end = text.data() + text.size();
  if (text.starts_with(prefix)) {
    const auto [at, error] = std::from_chars(text.data() + prefix.size(), end, device.index);
    if (error == std::errc() && at == end && device.index >= 0) return device;
  }
  fail(ErrorKind::Config, "device: {} is not one of cpu, cuda, cuda:0, cuda:1, ...", text);
}

c10::Device torch_device(Device device) {
  switch (device.type) {
    case Device::Type::cpu:
      break;
    case Device::Type::cuda:
      return {c10::kCUDA, device.index};
    case Device::Type::test:
      return {c10::kPrivateUse1, 0};
  }
  return {c10::kCPU};
}

Device from_torch(c10::Device device) {
  if (device.is_cpu()) return {};
  if (device.is_cuda()) return {Device::Type::cuda, device.has_index() ? device.index() : std::int8_t{0}};
  return {Device::Type::test, 0};
}

c10::Device new_array_device() { return torch_device(current); }

Device device_of(const Array& x) {
  if (x.empty())
    fail(ErrorKind::InvalidArgument, "device_of: the array is empty (it was never given a value)");
  return from_torch(tensor(x).device());
}

Array to(const Array& x, Device device) try {
  if (device_of(x) == device) return x;
  require_there(device);
  return labelled_as(x, tensor(x).to(torch_device(device)));
} catch (...) {
  rethrow("to", {Operand{x, {}}});
}

// Libraries start what they are given on the thread's own device.
DeviceScope::DeviceScope(Device device) : before_(current) {
  require_there(device);
  if (device.type != Device::Type::cpu) own_before_ = exchange_own_device(device);
  current = device;
}
DeviceScope::~DeviceScope() {
  if (current.type != Device::Type::cpu) give_own_device_back({current.type, own_before_});
  current = before_;
}

Device default_device() { return current; }

}  // namespace bora::core
