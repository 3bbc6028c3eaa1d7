// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "bora/mesh/communicator.h"
#include "bora/mesh/device_transport.h"

namespace bora::mesh {

/// Raised with every change of transport.h or of the functions that the plug-in exports; loader and plug-in
/// must agree.
inline constexpr int kNcclPluginVersion = 2;

/// By what the workers of a communicator find each other (NCCL's own unique id).
using NcclId = std::array<std::byte, 128>;

/// Asked in every call that begins a batch.
using NcclStream = void* (*)();

/// What opening the NCCL plug-in and running its check came to.
struct NcclCheck {
  enum class Outcome { right, wrong, no_device, no_plugin };
  Outcome outcome = Outcome::no_plugin;
  std::string words;  ///< what was run and what was not; without a plug-in, why and the next action
};

/// Opens `library` (the plug-in that `plugins/nccl` builds) and lets it run all-reduce, messages, split and
/// tree sum on this machine's devices: with one worker, and with two. A bare name is looked for in the
/// program's own plug-in folders, then where the system looks. Takes seconds where there is a device. Never
/// throws; a loaded plug-in stays loaded.
NcclCheck check_nccl(const std::string& library = "libbora_nccl.so");

struct NcclOptions {
  int device = 0;  ///< of this worker, as CUDA counts them
  /// The stream (cudaStream_t) of what computes there: a batch begins when all that it was given before has ended.
  NcclStream stream = [] { return static_cast<void*>(nullptr); };
  double deadline_seconds = kDefaultDeadline;
  std::string library = "libbora_nccl.so";
};

/// The workers of `world` once more, for messages that lie in device memory (those of `world` lie in this
/// process's own). Collective: worker 0 makes the id, which `world` brings to all. Unsupported, with the next
/// action: no plug-in, no device, two workers on one device.
std::unique_ptr<Transport> open_nccl_transport(Communicator& world, const NcclOptions& options = {});

/// The same for a run: in the order of this thread's operations on its GPU.
DeviceTransports nccl_transports(const std::string& library = "libbora_nccl.so");

}  // namespace bora::mesh
