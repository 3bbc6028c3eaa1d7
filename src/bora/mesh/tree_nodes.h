// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bora/mesh/communicator.h"
#include "bora/mesh/lane_tree.h"

namespace bora::mesh {

/// What all workers contribute to one sum.
struct TreeNodes {
  struct Leaf {
    LaneRange lanes;
    int worker = 0;
    std::int64_t place = 0;     ///< among the nodes of its worker
    std::vector<char> present;  ///< by array: whether a lane touched it
  };
  std::vector<Leaf> leaves;          ///< in lane order; together all lanes
  std::vector<std::int64_t> counts;  ///< nodes by worker
  std::int64_t most = 1;             ///< of counts
  std::vector<double> scalars;       ///< summed over all lanes

  // Of this worker: its nodes' elements by (node, array), and those of the result by array; null where
  // absent.
  std::vector<std::vector<float*>> own;
  std::vector<float*> home;

  bool present(std::size_t array) const;  ///< in any leaf
};

/// Tells all workers what this one contributes: `own`, nodes in lane order. Collective; InvalidArgument if
/// they do not agree on lanes, arrays, `elements` (of all arrays) or scalars, or a worker has not summed its
/// owned_lanes().
TreeNodes exchange_nodes(Communicator& communicator, const std::vector<LaneSum>& own, std::int64_t lanes,
                         std::size_t arrays, std::int64_t elements);

}  // namespace bora::mesh
