// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "tree_sum.h"

#include <bit>

#include "add.h"
#include "bora/base/error.h"

namespace bora::nccl {
namespace {

std::span<std::byte> bytes_of(float* data, std::size_t n) {
  return std::as_writable_bytes(std::span(data, n));
}

}  // namespace

TreeSum::TreeSum(NcclTransport& transport, std::int64_t lanes, std::int64_t elements)
    : t_(transport), lanes_(lanes), elements_(elements) {
  if (lanes < 1 || !std::has_single_bit(static_cast<std::uint64_t>(lanes)))
    fail(ErrorKind::InvalidArgument, "{}: the number of lanes must be a power of two, not {}",
         t_.place().at("tree sum"), lanes);
  std::size_t nodes = 0;
  for (int w = 0; w < t_.size(); ++w) nodes += w == t_.rank() ? 0 : nodes_of(w).size();
  came_ = make_device_array<float>(t_.place(), nodes * shard(t_.rank()).size());
}

TreeSum::Span TreeSum::shard(int worker) const {
  return {elements_ * worker / t_.size(), elements_ * (worker + 1) / t_.size()};
}

std::vector<mesh::LaneRange> TreeSum::nodes_of(int worker) const {
  return mesh::subtrees(mesh::owned_lanes(worker, t_.size(), lanes_));
}

void TreeSum::push(Merge& merge, mesh::LaneRange lanes, float* data, std::size_t n) {
  merge.push(lanes, data, [&](float* left, const float* right) {
    t_.place().check(add_into(n, left, right, t_.stream()), "add_into");
    return left;
  });
}

void TreeSum::sum(std::span<float* const> own, float* out) {
  const auto owned = mesh::owned_lanes(t_.rank(), t_.size(), lanes_);
  if (static_cast<std::int64_t>(own.size()) != owned.lanes)
    fail(ErrorKind::InvalidArgument, "{}: {} lanes were given, it owns {} of the {}",
         t_.place().at("tree sum"), own.size(), owned.lanes, lanes_);
  t_.place().use();
  Merge nodes;
  for (std::size_t i = 0; i < own.size(); ++i)
    push(nodes, {owned.first + static_cast<std::int64_t>(i), 1}, own[i], static_cast<std::size_t>(elements_));
  scatter(nodes);
  const auto mine = shard(t_.rank());
  const float* total = merge_shard(nodes);
  if (total != out + mine.begin)
    t_.place().check(cudaMemcpyAsync(out + mine.begin, total, mine.size() * sizeof(float),
                                     cudaMemcpyDeviceToDevice, t_.stream()),
                     "cudaMemcpyAsync");
  gather(out);
}

// Each worker's shard of this one's nodes goes to it.
void TreeSum::scatter(const Merge& own) {
  std::vector<mesh::Message> messages;
  const std::size_t n = shard(t_.rank()).size();
  float* place = came_.get();
  for (int w = 0; w < t_.size(); ++w) {
    if (w == t_.rank()) continue;
    const auto theirs = shard(w);
    for (const auto& node : own.nodes())
      messages.push_back({w, bytes_of(node.value + theirs.begin, theirs.size()), {}});
    for (std::size_t i = 0; i < nodes_of(w).size(); ++i, place += n)
      messages.push_back({w, {}, bytes_of(place, n)});
  }
  if (messages.empty()) return;
  t_.start(messages);
  t_.wait("tree sum: reduce-scatter");
}

float* TreeSum::merge_shard(const Merge& own) {
  Merge all;
  const auto mine = shard(t_.rank());
  float* place = came_.get();
  for (int w = 0; w < t_.size(); ++w) {
    if (w == t_.rank()) {
      for (const auto& node : own.nodes()) push(all, node.lanes, node.value + mine.begin, mine.size());
      continue;
    }
    for (const auto& lanes : nodes_of(w)) {
      push(all, lanes, place, mine.size());
      place += mine.size();
    }
  }
  return all.nodes()[0].value;
}

void TreeSum::gather(float* out) {
  std::vector<mesh::Message> messages;
  const auto mine = shard(t_.rank());
  for (int k = 1; k < t_.size(); ++k) {
    const int to = (t_.rank() + k) % t_.size(), from = (t_.rank() + t_.size() - k) % t_.size();
    const auto theirs = shard(from);
    messages.push_back({to, bytes_of(out + mine.begin, mine.size()), {}});
    messages.push_back({from, {}, bytes_of(out + theirs.begin, theirs.size())});
  }
  if (!messages.empty()) t_.start(messages);
  t_.wait("tree sum: all-gather");
}

}  // namespace bora::nccl
