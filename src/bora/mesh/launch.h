// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bora::mesh {

/// Who started the workers of this run.
enum class Launcher { none, mpirun, srun, torchrun };
std::string_view name_of(Launcher launcher);

/// This worker's place in the run, as its launcher tells it.
struct LaunchEnvironment {
  Launcher launcher = Launcher::none;
  int rank = 0, size = 1;              ///< of all workers
  int local_rank = 0, local_size = 1;  ///< of those on this host; 0 of 1 where the launcher does not say
  std::string host;
};

/// Value of an environment variable, nothing if it is absent or empty.
using Variables = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the variables of the innermost launcher: OMPI_COMM_WORLD_* (mpirun), RANK and WORLD_SIZE (torchrun),
/// PMI_RANK and PMI_SIZE (mpirun of MPICH, srun --mpi=pmi2), SLURM_PROCID within a step (srun). A batch
/// script's own SLURM variables start nobody. Half-set or contradictory variables are a Usage error that
/// names them.
LaunchEnvironment launch_environment(const Variables& variables);
LaunchEnvironment launch_environment();  ///< of this process

/// For what all workers would say alike, a mistake in their command: whether this one is the first of its host
/// (or its variables are half set, and nobody else may be). The others wait a moment, since launchers end all
/// workers when one has ended.
bool is_to_speak();

}  // namespace bora::mesh
