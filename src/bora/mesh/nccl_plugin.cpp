// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/nccl_plugin.h"

#include <string_view>

#include "bora/base/error.h"
#include "bora/base/plugin.h"
#include "bora/core/device_view.h"

namespace bora::mesh {
namespace {

constexpr int kNoDevice = 77;

using Check = int(char* words, std::size_t room);
using MakeId = int(NcclId* id, char* error, std::size_t room);
using Open = Transport*(int rank, int size, const NcclId* id, int device, NcclStream stream,
                        double limit_seconds, char* error, std::size_t room);
using Identify = int(int device, char* identity, std::size_t room);

Plugin open_plugin(const std::string& library) {
  return Plugin(library, {.name = "NCCL plug-in",
                          .version_symbol = "bora_nccl_plugin_version",
                          .version = kNcclPluginVersion,
                          .absent = "NCCL plug-in: not built",
                          .build = "configure with -DBORA_CUDA=ON where nvcc, nccl.h and libnccl are found"});
}

}  // namespace

NcclCheck check_nccl(const std::string& library) {
  try {
    const auto plugin = open_plugin(library);
    std::array<char, 4096> words{};
    const int outcome = plugin.function<Check>("bora_nccl_check")(words.data(), words.size());
    using Outcome = NcclCheck::Outcome;
    return {outcome == 0 ? Outcome::right : (outcome == kNoDevice ? Outcome::no_device : Outcome::wrong),
            words.data()};
  } catch (const Error& e) {
    return {NcclCheck::Outcome::no_plugin, e.what()};
  }
}

std::unique_ptr<Transport> open_nccl_transport(Communicator& world, const NcclOptions& options) {
  const auto plugin = open_plugin(options.library);
  std::array<char, 4096> error{};
  NcclId id{};
  auto* make_id = plugin.function<MakeId>("bora_nccl_make_id");
  if (world.rank() == 0 && make_id(&id, error.data(), error.size()) != 0)
    fail(ErrorKind::Unsupported, "NCCL plug-in: {}", error.data());
  world.broadcast(0, id);
  auto* open = plugin.function<Open>("bora_nccl_open");
  std::unique_ptr<Transport> transport(open(world.rank(), world.size(), &id, options.device, options.stream,
                                            options.deadline_seconds, error.data(), error.size()));
  if (!transport)
    fail(ErrorKind::Unsupported, "NCCL plug-in: {}\nhint: a device of its own for each worker of a host",
         error.data());
  return transport;
}

// The device of a run is that of its thread.
DeviceTransports nccl_transports(const std::string& library) {
  const auto absent = [library]() -> std::string {
    try {
      open_plugin(library).function<Identify>("bora_nccl_identity");
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  const auto identity = [library](core::Device device) -> std::string {
    std::array<char, 256> words{};
    auto* identify = open_plugin(library).function<Identify>("bora_nccl_identity");
    if (identify(device.index, words.data(), words.size()) != 0)
      fail(ErrorKind::Unsupported, "NCCL plug-in: {}\nhint: bora doctor says what is here", words.data());
    return words.data();
  };
  const auto open = [library](Communicator& world, core::Device own) {
    return open_nccl_transport(world, {.device = own.index,
                                       .stream = [] { return core::stream_of(core::default_device()); },
                                       .deadline_seconds = world.deadline(),
                                       .library = library});
  };
  return {"NCCL", absent, identity, open};
}

}  // namespace bora::mesh
