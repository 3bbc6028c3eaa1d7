// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/lane_tree.h"

#include <bit>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/step_ops.h"

namespace bora::mesh {
namespace {

void add_arrays(std::vector<core::Array>& into, const std::vector<core::Array>& from) {
  std::vector<core::Addition> additions;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (from[i].empty()) continue;
    if (into[i].empty()) {
      into[i] = from[i];
      continue;
    }
    if (into[i].numel() != from[i].numel()) {
      fail(ErrorKind::InvalidArgument, "lane tree: array {} has {} elements in one lane and {} in another", i,
           into[i].numel(), from[i].numel());
    }
    additions.push_back({&into[i], &from[i]});
  }
  core::add_into(additions);
}

void add_scalars(std::vector<double>& into, std::span<const double> from) {
  if (into.size() != from.size()) {
    fail(ErrorKind::InvalidArgument, "lane tree: {} scalars in one lane and {} in another", into.size(),
         from.size());
  }
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

}  // namespace

LaneTree::LaneTree(std::int64_t lanes, std::size_t arrays) : lanes_(lanes), arrays_(arrays) {
  if (lanes < 1 || !std::has_single_bit(static_cast<std::uint64_t>(lanes))) {
    fail(ErrorKind::InvalidArgument, "lane tree: the number of lanes must be a power of two, not {}", lanes);
  }
}

void LaneTree::check_lane(std::int64_t lane) const {
  if (lane < 0 || lane >= lanes_) {
    fail(ErrorKind::InvalidArgument, "lane tree: lane {} is not among the {} lanes", lane, lanes_);
  }
  const auto after = nodes_.upper_bound(lane);
  if (after == nodes_.begin()) return;
  const LaneSum& node = std::prev(after)->second;
  if (lane < node.first + node.lanes) fail(ErrorKind::InvalidArgument, "lane tree: lane {} came twice", lane);
}

std::vector<core::Array>& LaneTree::buffer_for(std::int64_t lane) {
  check_lane(lane);
  if (open_ != -1 && open_ != lane) {
    fail(ErrorKind::InvalidArgument, "lane tree: lane {} begins before lane {} has finished", lane, open_);
  }
  open_ = lane;
  if (lane % 2 == 1) {
    const auto sibling = nodes_.find(lane - 1);
    if (sibling != nodes_.end()) return sibling->second.arrays;
  }
  own_.resize(arrays_);
  return own_;
}

void LaneTree::finish(std::int64_t lane, std::span<const double> scalars) {
  if (open_ != lane) fail(ErrorKind::InvalidArgument, "lane tree: lane {} finished without a buffer", lane);
  const auto sibling = lane % 2 == 1 ? nodes_.find(lane - 1) : nodes_.end();
  if (sibling == nodes_.end()) {
    LaneSum leaf{lane, 1, std::exchange(own_, {}), {scalars.begin(), scalars.end()}};
    nodes_.emplace(lane, std::move(leaf));
  } else {
    add_scalars(sibling->second.scalars, scalars);
    sibling->second.lanes = 2;
  }
  open_ = -1;
  merge_from(lane);
}

void LaneTree::push(LaneSum sum) {
  check_lane(sum.first);
  const bool node = sum.lanes > 0 && std::has_single_bit(static_cast<std::uint64_t>(sum.lanes)) &&
                    sum.first % sum.lanes == 0 && sum.first + sum.lanes <= lanes_;
  if (!node || sum.arrays.size() != arrays_) {
    fail(ErrorKind::InvalidArgument,
         "lane tree: {} lanes from lane {} with {} arrays are no node of {} lanes with {}", sum.lanes,
         sum.first, sum.arrays.size(), lanes_, arrays_);
  }
  const std::int64_t first = sum.first;
  nodes_.emplace(first, std::move(sum));
  merge_from(first);
}

// Merges the node that holds lane `first` with its sibling, and so on upwards.
void LaneTree::merge_from(std::int64_t first) {
  for (auto node = std::prev(nodes_.upper_bound(first)); node->second.lanes < lanes_;) {
    const std::int64_t size = node->second.lanes;
    const std::int64_t left_first = node->second.first / (2 * size) * (2 * size);
    const auto left = nodes_.find(left_first), right = nodes_.find(left_first + size);
    if (left == nodes_.end() || right == nodes_.end() || left->second.lanes != size ||
        right->second.lanes != size) {
      return;
    }
    add_arrays(left->second.arrays, right->second.arrays);
    add_scalars(left->second.scalars, right->second.scalars);
    left->second.lanes = 2 * size;
    nodes_.erase(right);
    node = left;
  }
}

std::vector<LaneSum> LaneTree::take_nodes() {
  std::vector<LaneSum> out;
  for (auto& [first, node] : std::exchange(nodes_, {})) out.push_back(std::move(node));
  open_ = -1;
  own_.clear();
  return out;
}

LaneSum LaneTree::take_total() {
  if (nodes_.size() != 1 || nodes_.begin()->second.lanes != lanes_) {
    std::int64_t present = 0;
    for (const auto& [first, node] : nodes_) present += node.lanes;
    fail(ErrorKind::InvalidArgument, "lane tree: {} of {} lanes have finished", present, lanes_);
  }
  return std::move(take_nodes().front());
}

}  // namespace bora::mesh
