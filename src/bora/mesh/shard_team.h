// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <memory>

#include "bora/mesh/collectives.h"
#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// Ranks among whom some parameters of a model are fully sharded, and the ways between them: one for what travels
/// at call, the others for what travels beside the computation.
struct ShardTeam {
  static constexpr std::size_t kWays = 8;

  /// `replicas`: each of so many groups of consecutive ranks holds all shards. `lanes_each`: so many lanes, a power
  /// of two, make up a rank's gradient. Collective.
  ShardTeam(std::shared_ptr<Communicator> workers, int replicas, int lanes_each);

  int replica() const { return across[0]->rank(); }
  int rank() const { return replica_ranks->rank(); }    ///< among those of this replica: its shard
  int shards() const { return replica_ranks->size(); }  ///< of each parameter
  void progress() noexcept;

  std::shared_ptr<Communicator> workers, replica_ranks;  ///< the second: those of this replica
  std::shared_ptr<Communicator> values;
  std::array<std::shared_ptr<Communicator>, kWays> sums;
  std::array<std::shared_ptr<Communicator>, kWays> across;  ///< same shard, one rank of each replica
  std::unique_ptr<AxisCollectives> of_replica;
  int lanes_each;
};

}  // namespace bora::mesh
