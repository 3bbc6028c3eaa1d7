// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/device_transport.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/mesh/nccl_plugin.h"

namespace bora::mesh {
namespace {

using core::Device;

std::map<Device::Type, DeviceTransports>& transports() {
  static std::map<Device::Type, DeviceTransports> all{{Device::Type::cuda, nccl_transports()}};
  return all;
}

// What keeps this rank from it; "" for nothing.
std::string own_obstacle(const Communicator& world, Device own) {
  if (!has_device_transports(own.type))
    return fmt::format("worker {} computes on {}, which has no others", world.rank(), core::name(own));
  const auto absent = transports().at(own.type).absent();
  return absent.empty() ? "" : fmt::format("worker {}: {}", world.rank(), absent);
}

std::string first_of(const std::vector<std::string>& texts) {
  for (const auto& text : texts)
    if (!text.empty()) return text;
  return "";
}

// Two ranks of one device, or of different types of it.
std::string obstacle_between(Communicator& world, Device own) {
  const auto types = all_gather_texts(world, fmt::format("{}", static_cast<int>(own.type)));
  for (std::size_t w = 1; w < types.size(); ++w)
    if (types[w] != types[0]) return fmt::format("workers 0 and {} compute on devices of two types", w);
  const auto identity = transports().at(own.type).identity(own);
  const auto devices =
      all_gather_texts(world, identity.empty() ? "" : fmt::format("{} of host {}", identity, world.host()));
  std::map<std::string, std::size_t> by_device;
  for (std::size_t w = 0; w < devices.size(); ++w) {
    if (devices[w].empty()) continue;
    const auto [first, is_new] = by_device.emplace(devices[w], w);
    if (!is_new) return fmt::format("workers {} and {} share GPU {}", first->second, w, devices[w]);
  }
  return "";
}

}  // namespace

void register_device_transports(Device::Type type, DeviceTransports of_type) {
  transports()[type] = std::move(of_type);
}

bool has_device_transports(Device::Type type) { return transports().contains(type); }

std::string connect_devices(Communicator& world, Device own) {
  const bool may = own != Device() || has_device_transports(own.type);  // the second in tests
  if (world.size() == 1 || !any_of_all(world, may)) return "";
  auto obstacle = first_of(all_gather_texts(world, own_obstacle(world, own)));
  if (obstacle.empty()) obstacle = obstacle_between(world, own);
  if (!obstacle.empty()) return "messages go through the memory of the host: " + obstacle;
  const auto& of_type = transports().at(own.type);
  world.carry(own, [&] { return of_type.open(world, own); });
  return fmt::format("messages go from device to device by {}", of_type.name);
}

}  // namespace bora::mesh
