// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/device_kernels.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/log.h"
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

// Devices of a type with kernels that do not run on them. Read by every operation, and written once.
std::atomic<bool>& lacks_kernels(Device device) {
  constexpr std::size_t kIndices = 128;
  static std::array<std::array<std::atomic<bool>, kIndices>, kTypes> all{};
  return all[static_cast<std::size_t>(device.type)][static_cast<std::size_t>(device.index)];
}

// What graphs of a device work in, and the most that there was before that changed last.
struct OfGraphs {
  std::int64_t bytes = 0, peak_before = 0;
};
std::mutex graphs_mutex;
std::map<std::int8_t, OfGraphs>& of_graphs(Device::Type type) {
  static auto& all =
      *new std::array<std::map<std::int8_t, OfGraphs>, kTypes>;  // graphs may go after what is static
  return all[static_cast<std::size_t>(type)];
}

DeviceMemory memory_of_allocator(Device device) {
  const auto& support = support_of(device.type);
  return support.memory == nullptr ? DeviceMemory() : support.memory(device.index);
}
DeviceMemory memory_with(const OfGraphs& graphs, DeviceMemory memory) {
  memory.live += graphs.bytes;
  memory.peak = std::max(graphs.peak_before, memory.peak + graphs.bytes);
  return memory;
}

void count_anew(Device device) {
  if (const auto& support = support_of(device.type); support.count_anew != nullptr)
    support.count_anew(device.index);
}

const c10::impl::DeviceGuardImplInterface* backend_of(Device::Type type) {
  const auto torch_type = torch_device({type, 0}).type();
  return c10::impl::device_guard_impl_registry[static_cast<std::size_t>(torch_type)].load();
}

}  // namespace

void register_device(Device::Type type, const DeviceSupport& support) { support_of(type) = support; }

void look_at_kernels(Device device) {
  static std::mutex mutex;
  static std::set<std::pair<Device::Type, std::int8_t>> seen;
  const std::lock_guard lock(mutex);
  const auto& support = support_of(device.type);
  if (!seen.emplace(device.type, device.index).second) return;
  if (support.has_kernels == nullptr || support.has_kernels(device.index)) return;
  lacks_kernels(device) = true;
  log_info(
      "{}: this build has no kernels for {}: all operations are libtorch's, which is slower. Build it with "
      "CMAKE_CUDA_ARCHITECTURES for that GPU",
      name(device), description(device));
}

std::int8_t exchange_own_device(Device device) {
  return backend_of(device.type)->exchangeDevice(torch_device(device)).index();
}
void give_own_device_back(Device device) noexcept {
  backend_of(device.type)->uncheckedSetDevice(torch_device(device));
}

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
  const std::lock_guard lock(graphs_mutex);
  return memory_with(of_graphs(device.type)[device.index], memory_of_allocator(device));
}

void count_memory_anew(Device device) {
  const std::lock_guard lock(graphs_mutex);
  of_graphs(device.type)[device.index].peak_before = 0;
  count_anew(device);
}

DeviceMemory hold_for_graphs(Device device, std::int64_t bytes) {
  const std::lock_guard lock(graphs_mutex);
  auto& graphs = of_graphs(device.type)[device.index];
  const auto memory = memory_of_allocator(device);
  graphs.peak_before = memory_with(graphs, memory).peak;
  count_anew(device);
  graphs.bytes += bytes;
  return memory;
}

const DeviceKernels& kernels_of(Device::Type type) { return support_of(type).kernels; }

const DeviceKernels& kernels_on(Device device) {
  static const DeviceKernels none;
  return lacks_kernels(device) ? none : support_of(device.type).kernels;
}

std::int64_t times_given_back(Device device) {
  const auto& support = support_of(device.type);
  return support.times_given_back == nullptr ? 0 : support.times_given_back(device.index);
}

const DeviceKernels& device_kernels(const at::Tensor& x) {
  return plain_ops() ? support_of(Device::Type::cpu).kernels : recorded_kernels(x);
}

const DeviceKernels& recorded_kernels(const at::Tensor& x) { return kernels_on(from_torch(x.device())); }

DeviceKernels::Stream stream_of(const at::Tensor& x) {
  const auto device = from_torch(x.device());
  const auto* backend = backend_of(device.type);
  if (const auto own = from_torch(backend->getDevice()); own != device)
    fail(
        ErrorKind::InvalidArgument,
        "an array on {} is computed with by a thread whose own device is {}\nhint: core::DeviceScope, with the "
        "first one, around what is computed",
        name(device), name(own));
  return backend->getStreamNativeHandle(backend->getStream(x.device()));
}

}  // namespace bora::core
