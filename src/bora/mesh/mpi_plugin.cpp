// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/mpi_plugin.h"

#include <fmt/core.h>

#include <array>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/plugin.h"
#include "bora/mesh/segment_folder.h"
#include "bora/mesh/watchdog.h"

namespace bora::mesh {
std::unique_ptr<WorldTransport> open_mpi_transport(const std::string& library) {
  // MPI's own plug-ins expect to find its symbols among the global ones; this plug-in's are hidden.
  const Plugin plugin(library, {.name = "MPI plug-in",
                                .version_symbol = "bora_mpi_plugin_version",
                                .version = kMpiPluginVersion,
                                .absent = "MPI plug-in: not built",
                                .build = "sudo apt-get install libopenmpi-dev openmpi-bin, then build again",
                                .repair = "sudo apt-get install openmpi-bin",
                                .global = true});
  std::array<char, 1024> error{};
  auto* open = plugin.function<WorldTransport*(char*, std::size_t)>("bora_mpi_open");
  std::unique_ptr<WorldTransport> transport(open(error.data(), error.size()));
  if (!transport) fail(ErrorKind::Io, "MPI plug-in: {}", error.data());
  return transport;
}

namespace {

// Open MPI's names of the places for its files of shared memory; they last as long as the process.
void keep_segments_together() {
  static const SegmentFolder folder;
  if (folder.path().empty()) return;
  for (const char* part : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"})
    env::prefer(fmt::format("OMPI_MCA_{}_backing_directory", part), folder.path());
}

// MPI's start waits for all workers, for ever.
std::unique_ptr<WorldTransport> start_mpi(const LaunchEnvironment& launch,
                                          const CommunicatorOptions& options) {
  keep_segments_together();
  const Watchdog watchdog(
      fmt::format("worker {} of {} (host {}): the start of MPI", launch.rank, launch.size, launch.host),
      options.start_seconds);
  return open_mpi_transport(options.mpi_library);
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch,
                                                const CommunicatorOptions& options) {
  if (launch.size == 1) return make_self_communicator();
  if (launch.launcher == Launcher::torchrun)
    fail(ErrorKind::Unsupported,
         "workers: torchrun started {} workers, and has no means for workers on CPUs to talk\n"
         "hint: mpirun -n {} or srun -n {} --mpi=pmix",
         launch.size, launch.size, launch.size);
  auto transport = start_mpi(launch, options);
  if (transport->size() != launch.size || transport->rank() != launch.rank) {
    const int rank = transport->rank(), size = transport->size();
    transport->abandon();
    fail(ErrorKind::Usage,
         "workers: {} says worker {} of {}, MPI says worker {} of {}\n"
         "hint: start with the mpirun of the same MPI, or with srun --mpi=pmix",
         name_of(launch.launcher), launch.rank, launch.size, rank, size);
  }
  return make_communicator(std::move(transport), options.deadline_seconds);
}

}  // namespace bora::mesh
