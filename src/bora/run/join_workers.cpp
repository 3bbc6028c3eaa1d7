// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/join_workers.h"

#include <algorithm>

#include "bora/base/env.h"
#include "bora/base/parallel.h"
#include "bora/core/device.h"
#include "bora/core/runtime.h"
#include "bora/mesh/device_transport.h"
#include "bora/mesh/mpi_plugin.h"
#include "bora/mesh/same_arithmetic.h"

namespace bora::run {

std::shared_ptr<mesh::Communicator> join_workers(const mesh::LaunchEnvironment& launch,
                                                 const train::TrainerConfig& config) {
  const double timeout = config.worker_timeout;
  std::shared_ptr<mesh::Communicator> workers =
      mesh::make_communicator(launch, {.deadline_seconds = timeout, .start_seconds = std::max(timeout, 5.0)});
  auto threads = static_cast<int>(config.threads);
  if (threads == 0 && !env::threads() && launch.local_size > 1)
    threads = std::max(1, hardware_threads() / launch.local_size);
  core::initialize(threads);
  mesh::require_same_arithmetic(*workers, core::runtime_info().arithmetic);
  return workers;
}

std::string connect_devices(mesh::Communicator& workers) {
  auto words = mesh::connect_devices(workers, core::default_device());
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

TextTeam text_team(mesh::Communicator& workers) {
  if (workers.size() == 1) return {};
  int here = 0, before = 0;  // workers of this host, and those of a lower rank
  const auto hosts = workers.all_gather_unequal(as_bytes(workers.host()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const bool same = std::ranges::equal(hosts[rank], as_bytes(workers.host()));
    here += same;
    before += same && static_cast<int>(rank) < workers.rank();
  }
  return {.caches = {.worker = workers.rank(),
                     .workers = workers.size(),
                     .any = [&workers](bool mine) { return mesh::any_of_all(workers, mine); },
                     .host_worker = before,
                     .host_workers = here},
          .threads = core::runtime_info().threads,
          .meet = [&workers] { workers.barrier(); }};
}

}  // namespace bora::run
