// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The order in which lanes are added, apart from what holds their values: arrays of this machine's memory
// (lane_tree.h, tree_reduce.h) or of a device's (plugins/nccl).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bora::mesh {

/// Lanes [first, first + lanes).
struct LaneRange {
  std::int64_t first = 0;
  std::int64_t lanes = 0;
  bool operator==(const LaneRange&) const = default;
  bool has(std::int64_t lane) const { return lane >= first && lane < first + lanes; }
};

/// The lanes that one of `workers` computes: consecutive ones, the first `lanes % workers` workers one more
/// than the others. None for the last workers where there are more workers than lanes.
inline LaneRange owned_lanes(int worker, int workers, std::int64_t lanes) {
  const std::int64_t each = lanes / workers, more = lanes % workers;
  return {worker * each + std::min<std::int64_t>(worker, more), each + (worker < more ? 1 : 0)};
}

/// The largest nodes of the tree that make up a range, in lane order: what take_nodes() gives.
inline std::vector<LaneRange> subtrees(LaneRange range) {
  std::vector<LaneRange> nodes;
  while (range.lanes > 0) {
    std::int64_t size = 1;
    while (range.first % (2 * size) == 0 && 2 * size <= range.lanes) size *= 2;
    nodes.push_back({range.first, size});
    range.first += size;
    range.lanes -= size;
  }
  return nodes;
}

/// Whether two nodes are the halves of one.
inline bool siblings(const LaneRange& left, const LaneRange& right) {
  return left.lanes == right.lanes && left.first % (2 * left.lanes) == 0 &&
         right.first == left.first + left.lanes;
}

/// Adds up nodes that come in lane order by the tree. Pairs merge as soon as they are whole: at most
/// log2(lanes) + 1 are alive.
///
///     LaneMerge<float*> merge;
///     for (each node) merge.push(lanes, data, [&](float* left, float* right) { ...; return left; });
///     merge.nodes();   // the subtrees() of all lanes that came; one, if the tree is whole
template <class Value>
class LaneMerge {
 public:
  struct Node {
    LaneRange lanes;
    Value value{};
  };
  /// `add(left, right)` gives the value that holds the sum of both.
  template <class Add>
  void push(LaneRange lanes, Value value, const Add& add) {
    stack_[depth_++] = {lanes, std::move(value)};
    while (depth_ > 1 && siblings(stack_[depth_ - 2].lanes, stack_[depth_ - 1].lanes)) {
      Node& left = stack_[depth_ - 2];
      left.value = add(left.value, stack_[depth_ - 1].value);
      left.lanes.lanes *= 2;
      --depth_;
    }
  }
  std::span<const Node> nodes() const { return {stack_.data(), depth_}; }

 private:
  std::array<Node, 64> stack_;  // a tree has at most 2^63 lanes
  std::size_t depth_ = 0;
};

}  // namespace bora::mesh
