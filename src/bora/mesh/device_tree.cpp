// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/device_tree.h"

#include <algorithm>
#include <utility>

#include "bora/core/step_ops.h"
#include "bora/core/update.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/plain_arrays.h"

namespace bora::mesh {
namespace {

constexpr std::int64_t kRoundBytes = 64 << 20;

core::Array part_of(const core::Array& array, const Slice& s) {
  return core::elements(array, s.begin, std::vector<std::int64_t>{s.end - s.begin});
}

std::vector<Cargo> cargo_of(const Communicator& c, std::span<const core::Array> arrays, Cargo::Use use) {
  std::vector<Cargo> out;
  for (const auto& array : arrays) out.emplace_back(c, array, use);
  return out;
}

}  // namespace

DeviceTree::DeviceTree(Communicator& communicator, const Shards& shards, std::int64_t round_bytes)
    : c_(communicator),
      shards_(shards),
      round_((round_bytes > 0 ? round_bytes : kRoundBytes) / std::int64_t{sizeof(float)}) {}

// What a round moves of a worker's shard: nothing once the shard has ended.
std::vector<Slice> DeviceTree::round_of(int worker, std::int64_t from, std::int64_t room) const {
  const auto end = shards_.end(worker), begin = std::min(shards_.begin(worker) + from, end);
  return shards_.slices(begin, std::min(begin + room, end));
}

// Each worker's part of this one's nodes goes to it; of all leaves, what there is of this worker's part.
std::vector<DeviceTree::Parts> DeviceTree::exchange(const TreeNodes& nodes, const std::vector<LaneSum>& own,
                                                    std::int64_t from, std::int64_t room) {
  std::vector<Message> messages;
  std::vector<Cargo> travelling;
  for (const auto& node : own) {
    const auto out = cargo_of(c_, node.arrays, Cargo::Use::read);
    for (int k = 1; k < c_.size(); ++k) {
      const int to = (c_.rank() + k) % c_.size();
      for (const auto& s : round_of(to, from, room))
        if (!node.arrays[s.array].empty()) messages.push_back(out[s.array].to(to, s.begin, s.end - s.begin));
    }
  }
  const auto mine = round_of(c_.rank(), from, room);
  std::vector<Parts> leaves;
  for (const auto& leaf : nodes.leaves) {
    auto& parts = leaves.emplace_back();
    for (const auto& s : mine) {
      auto& part = parts.emplace_back();
      if (!leaf.present[s.array]) continue;
      if (leaf.worker == c_.rank()) {
        part = part_of(own[static_cast<std::size_t>(leaf.place)].arrays[s.array], s);
        continue;
      }
      part = make_array({s.end - s.begin});
      messages.push_back(travelling.emplace_back(c_, part, Cargo::Use::write).from(leaf.worker));
    }
  }
  c_.exchange_all(messages, "reduce_scatter");
  return leaves;
}

void DeviceTree::reduce_scatter(const TreeNodes& nodes, const std::vector<LaneSum>& own,
                                const std::vector<core::Array>& home) {
  const std::int64_t room = std::max<std::int64_t>(1, round_ / std::ssize(nodes.leaves));
  for (std::int64_t from = 0; from < shards_.largest(); from += room) {
    const auto leaves = exchange(nodes, own, from, room);
    const auto mine = round_of(c_.rank(), from, room);
    Parts at_home;
    for (const auto& s : mine)
      at_home.push_back(home[s.array].empty() ? core::Array() : part_of(home[s.array], s));
    // Either of two may hold their sum, addition being commutative: what is at home, if it is among them.
    const auto add = [&](Parts left, Parts right) {
      std::vector<core::Addition> additions;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i].empty()) std::swap(left[i], right[i]);
        if (right[i].empty()) continue;
        if (core::share_memory(right[i], at_home[i])) std::swap(left[i], right[i]);
        additions.push_back({&left[i], &right[i]});
      }
      core::add_into(additions);
      return left;
    };
    LaneMerge<Parts> merge;
    for (std::size_t i = 0; i < leaves.size(); ++i) merge.push(nodes.leaves[i].lanes, leaves[i], add);
    const auto& sum = merge.nodes()[0].value;
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!sum[i].empty() && !core::share_memory(sum[i], at_home[i])) core::copy_into(at_home[i], sum[i]);
  }
}

void DeviceTree::all_gather(std::span<core::Array> arrays) {
  const auto cargo = cargo_of(c_, arrays, Cargo::Use::update);
  std::vector<Message> messages;
  for (int k = 1; k < c_.size(); ++k) {
    const int to = (c_.rank() + k) % c_.size(), from = (c_.rank() + c_.size() - k) % c_.size();
    for (const auto& s : shards_.slices(c_.rank()))
      if (!arrays[s.array].empty()) messages.push_back(cargo[s.array].to(to, s.begin, s.end - s.begin));
    for (const auto& s : shards_.slices(from))
      if (!arrays[s.array].empty()) messages.push_back(cargo[s.array].from(from, s.begin, s.end - s.begin));
  }
  c_.exchange_all(messages, "all_gather");
}

}  // namespace bora::mesh
