// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// How the ranks of a run come to messages that lie in the memory of their devices.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "bora/core/device.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// What moves messages in the memory of a type of device.
struct DeviceTransports {
  std::string name;  ///< "NCCL"
  /// Why this process has none, with the next action; empty if it has.
  std::function<std::string()> absent;
  /// Which device that is on its host: two ranks cannot both use one. Empty: any number can.
  std::function<std::string(core::Device)> identity;
  /// Between all ranks of `world`, each with a device of its own. Collective.
  std::function<std::unique_ptr<Transport>(Communicator& world, core::Device own)> open;
};
/// The last one of a type counts. For CUDA there is NCCL from the beginning (nccl_plugin.h).
void register_device_transports(core::Device::Type type, DeviceTransports transports);
bool has_device_transports(core::Device::Type type);

/// Lets `world`, and what is split off it later, carry messages in the memory of the ranks' devices, where all have the
/// means for that; else they go through the memory of the hosts, as ever. Says which, and why, for a run's first lines;
/// "" on the CPU and with one rank. Collective. A transport that fails to open ends the run.
std::string connect_devices(Communicator& world, core::Device own);

}  // namespace bora::mesh
