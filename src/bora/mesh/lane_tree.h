// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bora/core/array.h"
#include "bora/mesh/lane_order.h"

namespace bora::mesh {

/// The sum over lanes [first, first + lanes), an aligned node of the tree.
struct LaneSum {
  std::int64_t first = 0;
  std::int64_t lanes = 0;
  std::vector<core::Array> arrays;  ///< fp32, contiguous; one for each parameter
  std::vector<double> scalars;      ///< loss sum, weight, metrics; in double, so that token counts stay exact
};

/// Adds up what lanes computed by one fixed binary tree, ((0+1)+(2+3))+((4+5)+(6+7))+...: the bits of the
/// result depend on the number of lanes alone, not on who computes which lane, nor on the order in which
/// lanes finish.
///
/// In lane order at most log2(lanes) + 1 sets of arrays are alive:
///
///     LaneTree tree(lanes, parameters.size());
///     for (std::int64_t lane = 0; lane < lanes; ++lane) {
///       Array loss = core::accumulate_gradients(parameters, f, {tree.buffer_for(lane)});
///       tree.finish(lane, {{loss.item(), weight}});
///     }
///     LaneSum sum = tree.take_total();
class LaneTree {
 public:
  /// `lanes`: of the whole run, a power of two. `arrays`: how many each lane contributes.
  LaneTree(std::int64_t lanes, std::size_t arrays);

  /// Where lane `lane` adds its arrays (empty: store there). An odd lane gets the buffer of its even sibling,
  /// if that has finished: no copy of its own is needed. The reference is valid until finish(lane).
  std::vector<core::Array>& buffer_for(std::int64_t lane);
  /// Lane `lane` has added its arrays. Merges every complete pair. `scalars` must be equally many in all
  /// lanes.
  void finish(std::int64_t lane, std::span<const double> scalars);

  /// Takes in a node that another worker has summed.
  void push(LaneSum sum);
  /// The largest nodes there are, in lane order: what a worker with some of the lanes has to give. Leaves
  /// nothing.
  std::vector<LaneSum> take_nodes();
  /// The sum over all lanes. An error if a lane is missing. Leaves nothing.
  LaneSum take_total();

  std::int64_t lanes() const { return lanes_; }

 private:
  void check_lane(std::int64_t lane) const;
  void merge_from(std::int64_t first);

  std::int64_t lanes_;
  std::size_t arrays_;
  std::int64_t open_ = -1;                 // the lane between buffer_for and finish
  std::vector<core::Array> own_;           // its buffer, unless it is its sibling's
  std::map<std::int64_t, LaneSum> nodes_;  // by first lane
};

}  // namespace bora::mesh
