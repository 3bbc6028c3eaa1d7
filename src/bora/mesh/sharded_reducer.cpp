// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <deque>
#include <utility>

#include "bora/base/trace.h"
#include "bora/core/grad.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/plain_arrays.h"
#include "bora/mesh/sharded_parameters.h"

namespace bora::mesh {

// The gradients of one step: worker w computes lane r·W + w in round r. Every gradient goes in pieces to the
// owners of its shards, who add lanes by the tree of lane_tree.h: the bits are those of one worker. With
// replicas the pieces stay within each, and its sums go from replica to replica: a worker sends the others
// its shard of each gradient, not its gradients.
class ShardedGradients {
 public:
  ShardedGradients(ShardedParameters& store, std::int64_t lanes);

  std::int64_t rounds() const;
  // This worker's lane in a round. All call for parameters together, so a worker without one computes
  // another lane, which is not counted.
  std::int64_t lane(std::int64_t round) const;

  // Gradient of the trained parameter i from this worker's lane of the round.
  void add(std::int64_t round, std::size_t i, const core::Array& gradient);
  // Waits for what is under way: other messages may follow.
  void finish();
  // Shards of the sum over all lanes; empty where no lane touched a parameter.
  LaneSum take_total();

 private:
  static constexpr std::size_t kWays = ShardTeam::kWays;
  // Bytes of the gradients that travel at once, if they are several: workers need not be in step.
  static constexpr std::int64_t kMostFlying = std::int64_t{64} << 20;

  // The pieces of one gradient: those that leave, and those of all lanes of the replica for this worker.
  struct Pieces {
    Communicator* way;
    std::int64_t round;
    std::size_t parameter;
    std::int64_t bytes;
    std::vector<core::Array> out, in;
    std::vector<Cargo> travelling;
  };
  // What lanes of a round add up to in this worker's shard: of this replica, and of the others.
  struct Passed {
    Communicator* way;
    std::size_t parameter;
    std::vector<LaneSum> own, others;
    std::vector<Cargo> travelling;
  };
  ShardTeam& team(std::size_t i) const { return store_.team(slots_[i]); }
  LaneRange parts_of(const ShardTeam& team, std::int64_t round, int replica) const;
  void finish_pieces();
  void send_to_replicas(std::int64_t round, std::size_t i, std::vector<LaneSum> own);
  void finish_replicas();

  ShardedParameters& store_;
  std::deque<Pieces> pieces_;       // on their way, in the order in which they started
  std::deque<Passed> to_replicas_;  // likewise
  std::size_t next_way_ = 0, next_way_across_ = 0;
  std::int64_t flying_bytes_ = 0;  // of the gradients in pieces_
  std::int64_t lanes_;
  std::vector<std::size_t> slots_;  // of the store, by trained parameter
  std::vector<LaneTree> trees_;     // likewise
  std::vector<bool> touched_;
};

ShardedGradients::ShardedGradients(ShardedParameters& store, std::int64_t lanes)
    : store_(store), lanes_(lanes), slots_(store.trained()), touched_(slots_.size()) {
  for (std::size_t i = 0; i < slots_.size(); ++i) trees_.emplace_back(lanes, 1);
}

std::int64_t ShardedGradients::rounds() const {
  const std::int64_t w = store_.workers()->size();
  return (lanes_ + w - 1) / w;
}

std::int64_t ShardedGradients::lane(std::int64_t round) const {
  const std::int64_t own = store_.workers()->rank(), at = round * store_.workers()->size() + own;
  return at < lanes_ ? at : std::min(own, lanes_ - 1);
}

// What the workers of a replica have to add in a round: by lanes, or by the lanes that make up a gradient.
LaneRange ShardedGradients::parts_of(const ShardTeam& team, std::int64_t round, int replica) const {
  const std::int64_t each = team.shards(), parts = lanes_ / team.lanes_each;
  const std::int64_t first = std::min(round * team.workers->size() + replica * each, parts);
  return {first, std::min(each, parts - first)};
}

// The pieces travel while the next gradients are computed: first within the replica; what its lanes add up to
// goes to the other replicas.
void ShardedGradients::add(std::int64_t round, std::size_t i, const core::Array& gradient) {
  auto& team = this->team(i);
  const auto& cut = store_.cut(slots_[i]);
  const trace::Span span("reduce-scatter", "elements", gradient.numel());
  const int rank = team.rank();
  const auto parts = parts_of(team, round, team.replica()).lanes;  // of workers 0, 1, ... of the replica
  touched_[i] = true;
  const std::int64_t bytes = gradient.numel() * std::int64_t{sizeof(float)};
  while (!pieces_.empty() && (pieces_.size() == kWays || flying_bytes_ + bytes > kMostFlying))
    finish_pieces();
  std::vector<core::Array> out(static_cast<std::size_t>(team.shards())), in(out.size());
  auto& way = *team.sums[next_way_++ % kWays];
  std::vector<Cargo> travelling;
  std::vector<Message> messages;
  for (int w = 0; w < team.shards(); ++w) {
    const auto at = static_cast<std::size_t>(w);
    const bool sends = rank < parts, receives = w < parts;
    if (sends) {
      if (cut.replicated()) {
        out[at] = gradient;
      } else {
        out[at] = make_array(cut.sizes(w));
        cut.extract(w, gradient, out[at]);
      }
    }
    if (w == rank) continue;
    if (receives) in[at] = make_array(cut.replicated() ? gradient.sizes() : cut.sizes(rank));
    if (sends) messages.push_back(travelling.emplace_back(way, out[at], Cargo::Use::read).to(w));
    if (receives) messages.push_back(travelling.emplace_back(way, in[at], Cargo::Use::write).from(w));
  }
  in[static_cast<std::size_t>(rank)] = out[static_cast<std::size_t>(rank)];
  flying_bytes_ += bytes;
  pieces_.push_back({&way, round, i, bytes, std::move(out), std::move(in), std::move(travelling)});
  way.start_exchange(messages, "gradients");
}

void ShardedGradients::finish_pieces() {
  Pieces came = std::move(pieces_.front());
  pieces_.pop_front();
  {
    const trace::Span span("wait");
    came.way->finish_exchange();
  }
  came.travelling.clear();
  flying_bytes_ -= came.bytes;
  LaneTree own(lanes_, 1);
  const auto& team = this->team(came.parameter);
  const auto parts = parts_of(team, came.round, team.replica());
  for (std::int64_t k = 0; k < parts.lanes; ++k) {
    own.push({(parts.first + k) * team.lanes_each,
              team.lanes_each,
              {std::move(came.in[static_cast<std::size_t>(k)])},
              {}});
  }
  send_to_replicas(came.round, came.parameter, own.take_nodes());
}

// To the workers with the same shard in the other replicas.
void ShardedGradients::send_to_replicas(std::int64_t round, std::size_t i, std::vector<LaneSum> own) {
  if (to_replicas_.size() == kWays) finish_replicas();
  const auto& cut = store_.cut(slots_[i]);
  auto& team = this->team(i);
  const auto sizes = cut.replicated() ? store_.slots_[slots_[i]].whole.sizes() : cut.sizes(team.rank());
  auto& across = *team.across[next_way_across_++ % kWays];
  auto& passed = to_replicas_.emplace_back(Passed{&across, i, std::move(own), {}, {}});
  std::vector<Message> messages;
  for (int k = 1; k < across.size(); ++k) {
    const int to = (across.rank() + k) % across.size(),
              from = (across.rank() + across.size() - k) % across.size();
    for (const auto& node : passed.own)
      messages.push_back(passed.travelling.emplace_back(across, node.arrays[0], Cargo::Use::read).to(to));
    const auto parts = parts_of(team, round, from);
    for (const auto& node : subtrees({parts.first * team.lanes_each, parts.lanes * team.lanes_each})) {
      auto& array = passed.others.emplace_back(LaneSum{node.first, node.lanes, {make_array(sizes)}, {}});
      messages.push_back(
          passed.travelling.emplace_back(across, array.arrays[0], Cargo::Use::write).from(from));
    }
  }
  across.start_exchange(messages, "gradients of replicas");
  if (across.size() == 1) finish_replicas();
}

void ShardedGradients::finish_replicas() {
  Passed came = std::move(to_replicas_.front());
  to_replicas_.pop_front();
  {
    const trace::Span span("wait");
    came.way->finish_exchange();
  }
  came.travelling.clear();
  for (auto* nodes : {&came.own, &came.others})
    for (auto& node : *nodes) trees_[came.parameter].push(std::move(node));
}

void ShardedGradients::finish() {
  while (!pieces_.empty()) finish_pieces();
  while (!to_replicas_.empty()) finish_replicas();
}

LaneSum ShardedGradients::take_total() {
  LaneSum total{0, lanes_, {}, {}};
  for (std::size_t i = 0; i < trees_.size(); ++i)
    total.arrays.push_back(touched_[i] ? std::move(trees_[i].take_total().arrays[0]) : core::Array());
  return total;
}

namespace {

class ShardedReducer final : public GradientReducer {
 public:
  explicit ShardedReducer(ShardedParameters& store)
      : GradientReducer(store.workers(), store.parameters(), store.shards(), store.shard_ranks(), &store),
        store_(store) {}

  bool owns(std::int64_t lane, std::int64_t) const override {
    return lane % workers().size() == workers().rank();
  }

 private:
  LaneSum sum_lanes(std::int64_t lanes, const Work& work) override {
    ShardedGradients sum(store_, lanes);
    for (std::int64_t round = 0; round < sum.rounds(); ++round) {
      run_lane(sum.lane(round), work, [&](const Loss& loss) {
        return core::stream_gradients(
            arrays(), loss, [&](std::size_t i, const core::Array& gradient) { sum.add(round, i, gradient); });
      });
      sum.finish();
    }
    store_.release();  // the optimizer changes the shards
    return sum.take_total();
  }

  ShardedParameters& store_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_sharded_reducer(ShardedParameters& store) {
  return std::make_unique<ShardedReducer>(store);
}

}  // namespace bora::mesh
