// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/mesh/communicator.h"
#include "bora/mesh/launch.h"

namespace bora::mesh {

/// Raised with every change of transport.h or of the functions that the plug-in exports; loader and plug-in
/// must agree.
inline constexpr int kMpiPluginVersion = 3;

/// Opens `library` (the plug-in that `plugins/mpi` builds) and starts MPI. A bare name is looked for in the
/// program's own plug-in folders, then where the system looks. Unsupported, with the next action, if it is
/// not there or is not this program's; a loaded plug-in stays loaded. Once in a process.
std::unique_ptr<WorldTransport> open_mpi_transport(const std::string& library = "libbora_mpi.so");

struct CommunicatorOptions {
  double deadline_seconds = kDefaultDeadline;
  /// Of the start of MPI, where workers come one after the other. Whoever waits longer ends with exit code
  /// 75.
  double start_seconds = kDefaultDeadline;
  std::string mpi_library = "libbora_mpi.so";
};

/// All workers of the run: `self` where there is one, so that MPI is never opened without need; else MPI.
/// Errors: no plug-in, workers that MPI counts otherwise than the launcher (an srun without its PMIx is one),
/// torchrun with several workers.
std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch,
                                                const CommunicatorOptions& options = {});

}  // namespace bora::mesh
