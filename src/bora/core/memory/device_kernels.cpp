// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/device_kernels.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>

#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

constexpr std::size_t kTypes = 3;

// By type; filled before a plug-in makes its first array.
std::array<DeviceSupport, kTypes>& supports() {
  static std::array<DeviceSupport, kTypes> all;
  return all;
}
DeviceSupport& support_of(Device::Type type) { return supports()[static_cast<std::size_t>(type)]; }

const c10::impl::DeviceGuardImplInterface* backend_of(Device::Type type) {
  const auto torch_type = torch_device({type, 0}).type();
  return c10::impl::device_guard_impl_registry[static_cast<std::size_t>(torch_type)].load();
}

}  // namespace

void register_device(Device::Type type, const DeviceSupport& support) { support_of(type) = support; }

int device_count(Device::Type type) {
  if (type == Device::Type::cpu) return 1;
  const auto* backend = backend_of(type);
  return backend == nullptr ? 0 : backend->deviceCount();
}

std::string description(Device device) {
  const auto& support = support_of(device.type);
  return support.description == nullptr ? name(device) : support.description(device.index);
}

DeviceMemory device_memory(Device device) {
  const auto& support = support_of(device.type);
  return support.memory == nullptr ? DeviceMemory() : support.memory(device.index);
}

const DeviceKernels& kernels_of(Device::Type type) { return support_of(type).kernels; }

std::int64_t times_given_back(Device device) {
  const auto& support = support_of(device.type);
  return support.times_given_back == nullptr ? 0 : support.times_given_back(device.index);
}

const DeviceKernels& device_kernels(const at::Tensor& x) {
  return plain_ops() ? support_of(Device::Type::cpu).kernels : recorded_kernels(x);
}

const DeviceKernels& recorded_kernels(const at::Tensor& x) {
  return support_of(from_torch(x.device()).type).kernels;
}

DeviceKernels::Stream stream_of(const at::Tensor& x) {
  const auto* backend = backend_of(from_torch(x.device()).type);
  return backend->getStreamNativeHandle(backend->getStream(x.device()));
}

}  // namespace bora::core
