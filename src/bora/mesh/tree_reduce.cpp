// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/tree_reduce.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/device.h"
#include "bora/core/host_view.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/mesh/device_tree.h"
#include "bora/mesh/plain_arrays.h"
#include "bora/mesh/tree_nodes.h"

namespace bora::mesh {
namespace {

constexpr std::int64_t kSharedBytes = 1 << 20, kMessageBytes = 16 << 20;
constexpr std::int64_t kCopy = 32768;  // floats of one thread's copy
constexpr std::int64_t kMerge = 4096;  // floats for which the whole tree is gone through: stays in L1

std::size_t as_size(std::int64_t i) { return static_cast<std::size_t>(i); }

void copy(std::int64_t n, float* to, const float* from) {
  kernels::for_chunks(n, kCopy, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, as_size(end - begin) * sizeof(float));
  });
}

// A node while the tree is gone through; null: nothing was added here.
struct Sum {
  LaneRange lanes;
  float* data = nullptr;
};

// Either may hold the result, addition being commutative: `home` if it is among them, which saves a copy.
float* add(float* left, float* right, const float* home, std::int64_t n) {
  if (!left || !right) return left ? left : right;
  if (right == home) std::swap(left, right);
  kernels::add_into(n, left, right);
  return left;
}

// Adds up leaves in lane order by the tree, in place, for elements [begin, end).
float* sum_leaves(std::span<const Sum> leaves, const float* home, std::int64_t begin, std::int64_t end) {
  LaneMerge<float*> merge;
  for (const Sum& leaf : leaves)
    merge.push(leaf.lanes, leaf.data ? leaf.data + begin : nullptr,
               [&](float* left, float* right) { return add(left, right, home + begin, end - begin); });
  return merge.nodes()[0].value;
}

std::vector<std::int64_t> counts(std::span<const core::Array* const> like) {
  std::vector<std::int64_t> out;
  for (const auto* array : like) out.push_back(array->numel());
  return out;
}

using core::HostView;

std::vector<HostView> views(std::span<const core::Array> arrays, HostView::Use use) {
  std::vector<HostView> out;
  for (const auto& array : arrays) out.push_back(array.empty() ? HostView() : HostView(array, use));
  return out;
}

// Null where the array is empty.
std::vector<float*> pointers(std::span<const core::Array> arrays, std::span<const HostView> views) {
  std::vector<float*> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out.push_back(arrays[i].empty() ? nullptr : views[i].floats().data());
  return out;
}

std::unique_ptr<ChunkExchange> make_exchange(Communicator& c, const ReduceOptions& options) {
  if (c.size() == 1) return nullptr;
  const bool shared = options.shared_memory && c.one_host();
  const auto bytes =
      options.buffer_bytes > 0 ? options.buffer_bytes : (shared ? kSharedBytes : kMessageBytes);
  return shared ? make_shared_exchange(c, bytes) : make_message_exchange(c, bytes);
}

}  // namespace

TreeReduce::TreeReduce(Communicator& communicator, std::span<const core::Array* const> like,
                       ReduceOptions options)
    : c_(communicator), shards_(counts(like), communicator.size()) {
  if (c_.size() > 1 && !like.empty() && c_.carries(core::device_of(*like[0])))
    device_ = std::make_unique<DeviceTree>(c_, shards_, options.buffer_bytes);
  else
    exchange_ = make_exchange(communicator, options);
  for (const auto* array : like) sizes_.push_back(array->sizes());
}

TreeReduce::~TreeReduce() = default;

LaneSum TreeReduce::reduce(LaneTree& tree) {
  auto sum = reduce_scatter(tree);
  all_gather(sum.arrays);
  return sum;
}

LaneSum TreeReduce::reduce_scatter(LaneTree& tree) {
  if (c_.size() == 1) return tree.take_total();
  const trace::Span span("reduce-scatter", "elements", shards_.elements());
  auto own = tree.take_nodes();
  require_own(own, tree.lanes());
  auto nodes = exchange_nodes(c_, own, tree.lanes(), sizes_.size(), shards_.elements());
  LaneSum total{0, tree.lanes(), make_home(nodes, own), nodes.scalars};
  if (device_)
    device_->reduce_scatter(nodes, own, total.arrays);
  else
    scatter_on_host(std::move(nodes), own, total);
  return total;
}

void TreeReduce::scatter_on_host(TreeNodes nodes, const std::vector<LaneSum>& own, const LaneSum& total) {
  // Sums are made in place, in the arrays of the first node where it has any; those of the others are not read again.
  std::vector<std::vector<HostView>> in_memory;
  for (std::size_t k = 0; k < own.size(); ++k) {
    in_memory.push_back(views(own[k].arrays, k == 0 ? HostView::Use::update : HostView::Use::read));
    nodes.own.push_back(pointers(own[k].arrays, in_memory.back()));
  }
  auto made = total.arrays;
  for (std::size_t a = 0; a < made.size(); ++a)
    if (!own.empty() && !own[0].arrays[a].empty()) made[a] = {};
  in_memory.push_back(views(made, HostView::Use::write));
  nodes.home = pointers(made, in_memory.back());
  for (std::size_t a = 0; a < made.size(); ++a)
    if (nodes.home[a] == nullptr && !own.empty()) nodes.home[a] = nodes.own[0][a];

  const auto workers = as_size(c_.size());
  std::vector<std::int64_t> out(workers), in(workers);
  const std::int64_t room = exchange_->scatter_room() / nodes.most;
  for (std::int64_t from = 0; from < shards_.largest(); from += room) {
    const auto mine = part(c_.rank(), from, room);
    for (int w = 0; w < c_.size(); ++w) {
      const auto theirs = part(w, from, room);
      out[as_size(w)] = nodes.counts[as_size(c_.rank())] * (theirs.end - theirs.begin);
      in[as_size(w)] = nodes.counts[as_size(w)] * (mine.end - mine.begin);
    }
    exchange_->scatter(
        out, in, [&](int to, float* chunk) { fill(nodes, part(to, from, room), chunk); },
        [&](std::span<float* const> chunks) { merge(nodes, mine, chunks); });
  }
}

void TreeReduce::all_gather(std::span<core::Array> arrays) {
  if (c_.size() == 1) return;
  const trace::Span span("all-gather", "elements", shards_.elements());
  if (device_) return device_->all_gather(arrays);
  const auto in_memory = views(arrays, HostView::Use::update);
  const auto data = pointers(arrays, in_memory);
  const auto each_slice = [&](Span elements, const auto& body) {
    std::int64_t at = 0;
    for (const auto& s : shards_.slices(elements.begin, elements.end)) {
      if (data[s.array]) body(s.end - s.begin, data[s.array] + s.begin, at);
      at += s.end - s.begin;
    }
  };
  std::vector<std::int64_t> sizes(as_size(c_.size()));
  const std::int64_t room = exchange_->gather_room();
  for (std::int64_t from = 0; from < shards_.largest(); from += room) {
    for (int w = 0; w < c_.size(); ++w) {
      const auto p = part(w, from, room);
      sizes[as_size(w)] = p.end - p.begin;
    }
    exchange_->gather(
        sizes,
        [&](float* chunk) {
          each_slice(part(c_.rank(), from, room),
                     [&](std::int64_t n, float* array, std::int64_t at) { copy(n, chunk + at, array); });
        },
        [&](std::span<float* const> chunks) {
          for (int w = 0; w < c_.size(); ++w) {
            if (w == c_.rank()) continue;
            each_slice(part(w, from, room), [&](std::int64_t n, float* array, std::int64_t at) {
              copy(n, array, chunks[as_size(w)] + at);
            });
          }
        });
  }
}

// What a round moves of a worker's shard: nothing once the shard has ended.
TreeReduce::Span TreeReduce::part(int worker, std::int64_t from, std::int64_t room) const {
  const auto end = shards_.end(worker);
  const auto begin = std::min(shards_.begin(worker) + from, end);
  return {begin, std::min(begin + room, end)};
}

void TreeReduce::require_own(const std::vector<LaneSum>& own, std::int64_t lanes) const {
  for (const auto& node : own) {
    if (node.arrays.size() != sizes_.size())
      fail(ErrorKind::InvalidArgument, "tree reduce: the lanes have {} arrays and the reducer {}",
           node.arrays.size(), sizes_.size());
    for (std::size_t a = 0; a < sizes_.size(); ++a) {
      std::int64_t want = 1;
      for (const auto size : sizes_[a]) want *= size;
      if (!node.arrays[a].empty() && node.arrays[a].numel() != want)
        fail(ErrorKind::InvalidArgument,
             "tree reduce: array {} has {} elements in {} lanes from lane {} (of {}) and {} in the reducer",
             a, node.arrays[a].numel(), node.lanes, node.first, lanes, want);
    }
  }
}

// The first node's arrays, and new ones where other workers alone have something.
std::vector<core::Array> TreeReduce::make_home(const TreeNodes& nodes, std::vector<LaneSum>& own) const {
  std::vector<core::Array> home(sizes_.size());
  for (std::size_t a = 0; a < home.size(); ++a) {
    if (!own.empty() && !own[0].arrays[a].empty())
      home[a] = own[0].arrays[a];
    else if (nodes.present(a))
      home[a] = make_array(sizes_[a]);
  }
  return home;
}

// This worker's nodes one after another, each with the elements of `part`.
void TreeReduce::fill(const TreeNodes& nodes, Span part, float* chunk) const {
  const auto slices = shards_.slices(part.begin, part.end);
  for (const auto& node : nodes.own) {
    for (const auto& s : slices) {
      const std::int64_t n = s.end - s.begin;
      if (node[s.array]) copy(n, chunk, node[s.array] + s.begin);
      chunk += n;
    }
  }
}

void TreeReduce::merge(const TreeNodes& nodes, Span part, std::span<float* const> in) const {
  std::vector<Sum> leaves(nodes.leaves.size());
  std::int64_t at = 0;
  for (const auto& s : shards_.slices(part.begin, part.end)) {
    const std::int64_t n = s.end - s.begin;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto& leaf = nodes.leaves[i];
      leaves[i] = {leaf.lanes, nullptr};
      if (!leaf.present[s.array]) continue;
      if (leaf.worker == c_.rank())
        leaves[i].data = nodes.own[as_size(leaf.place)][s.array] + s.begin;
      else
        leaves[i].data = in[as_size(leaf.worker)] + leaf.place * (part.end - part.begin) + at;
    }
    at += n;
    if (!nodes.home[s.array]) continue;
    float* home = nodes.home[s.array] + s.begin;
    kernels::for_chunks(n, kMerge, [&](std::int64_t begin, std::int64_t end) {
      const float* sum = sum_leaves(leaves, home, begin, end);
      if (sum != home + begin) std::memcpy(home + begin, sum, as_size(end - begin) * sizeof(float));
    });
  }
}

}  // namespace bora::mesh
