// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/shard_team.h"

#include <utility>

namespace bora::mesh {

ShardTeam::ShardTeam(std::shared_ptr<Communicator> all, int replicas, int lanes)
    : workers(std::move(all)), replica_ranks(workers), lanes_each(lanes) {
  if (replicas > 1) {
    const int each = workers->size() / replicas;
    replica_ranks = workers->split(workers->rank() / each, workers->rank());
  }
  of_replica = std::make_unique<AxisCollectives>(replica_ranks);
  values = replica_ranks->split(0, replica_ranks->rank());
  for (auto& way : sums) way = replica_ranks->split(0, replica_ranks->rank());
  const std::shared_ptr<Communicator> alone = replicas > 1 ? nullptr : make_self_communicator();
  for (auto& way : across) way = alone ? alone : workers->split(replica_ranks->rank(), workers->rank());
}

void ShardTeam::progress() noexcept {
  values->progress();
  for (const auto& way : sums) way->progress();
  for (const auto& way : across) way->progress();
}

}  // namespace bora::mesh
