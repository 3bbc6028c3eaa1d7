// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bora/mesh/communicator.h"
#include "bora/mesh/lane_tree.h"
#include "bora/mesh/shards.h"
#include "bora/mesh/tree_nodes.h"

namespace bora::mesh {

/// Both halves of TreeReduce for arrays on a device that the communicator carries: messages go out of the arrays and
/// into them, and the device adds up, in the order of the host's tree: the same bits. Collective.
class DeviceTree {
 public:
  /// `round_bytes`: of what comes from others at once; 0: 64 MiB.
  DeviceTree(Communicator& communicator, const Shards& shards, std::int64_t round_bytes);

  /// `own`: this worker's nodes. Of `home`, arrays of the first of them or new ones, this worker's shard becomes the
  /// sum over all lanes.
  void reduce_scatter(const TreeNodes& nodes, const std::vector<LaneSum>& own,
                      const std::vector<core::Array>& home);
  void all_gather(std::span<core::Array> arrays);

 private:
  using Parts = std::vector<core::Array>;  // of each slice; empty where no lane touched its array
  std::vector<Slice> round_of(int worker, std::int64_t from, std::int64_t room) const;
  std::vector<Parts> exchange(const TreeNodes& nodes, const std::vector<LaneSum>& own, std::int64_t from,
                              std::int64_t room);

  Communicator& c_;
  const Shards& shards_;
  std::int64_t round_;  // floats
};

}  // namespace bora::mesh
