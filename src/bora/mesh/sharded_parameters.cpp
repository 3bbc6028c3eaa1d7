// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/sharded_parameters.h"

#include <algorithm>
#include <utility>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/update.h"
#include "bora/mesh/plain_arrays.h"

namespace bora::mesh {
namespace {

// Where a worker's shard begins in an array of all shards one after another.
std::int64_t first_of_block(const AxisCut& cut, int worker) {
  std::int64_t first = 0;
  for (int w = 0; w < worker; ++w) first += cut.elements(w);
  return first;
}

core::Array block_in(const AxisCut& cut, int worker, const core::Array& all) {
  return core::elements(all, first_of_block(cut, worker), cut.sizes(worker));
}

// Whether an array rests in shards over a mesh axis whose workers compute different lanes.
bool among_own_lanes(const core::Array& x) {
  const auto* mapping = core::mapping();
  const auto cuts = core::cuts_of(x);
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m)
    if (cuts[m] >= 0 && mapping->own_lanes(m)) return true;
  return false;
}

}  // namespace

ShardedParameters::ShardedParameters(const std::shared_ptr<Communicator>& workers,
                                     std::vector<std::string> axes, int replicas, int experts)
    : axes_(std::move(axes)) {
  teams_.push_back(std::make_unique<ShardTeam>(workers, replicas, 1));
  if (experts > 1) {
    const int rank = workers->rank();
    teams_.push_back(std::make_unique<ShardTeam>(workers->split(rank % experts, rank), replicas, experts));
  }
  between_chunks_ = std::make_unique<kernels::BetweenChunks>([this] { make_progress(); });
}
ShardedParameters::~ShardedParameters() = default;

// MPI moves messages while it is called; the time between two calls is what a message may wait.
void ShardedParameters::make_progress() {
  constexpr double kBetweenLooks = 50e-6;
  const double now = monotonic_seconds();
  if (now - looked_ < kBetweenLooks) return;
  for (const auto& team : teams_) team->progress();
  looked_ = now;
}

std::size_t ShardedParameters::take(core::Array& parameter, core::Names names) {
  Slot slot;
  slot.whole = parameter;
  slot.names.assign(names.begin(), names.end());
  slot.team = teams_.size() > 1 && among_own_lanes(parameter) ? 1 : 0;
  const auto& team = *teams_[slot.team];
  slot.cut = AxisCut::along(axes_, names, parameter.sizes(), team.shards());
  slot.shard = slot.cut.replicated() ? parameter : make_array(slot.cut.sizes(team.rank()));
  if (!slot.cut.replicated()) {
    slot.cut.extract(team.rank(), parameter, slot.shard);
    core::drop_values(slot.whole);
  }
  by_node_[parameter.node()] = slots_.size();
  slots_.push_back(std::move(slot));
  return slots_.size() - 1;
}

void ShardedParameters::created(core::Array& parameter, core::Names names) { take(parameter, names); }

void ShardedParameters::adopt(std::span<const core::Parameter> parameters) {
  std::vector<Slot> ordered;
  for (const auto& p : parameters) {
    const auto found = by_node_.find(p.array->node());
    const auto at = found != by_node_.end() ? found->second : take(*p.array, p.axes);
    slots_[at].parameter = p;
    slots_[at].names = p.axes;
    ordered.push_back(slots_[at]);
  }
  slots_ = std::move(ordered);
  by_node_.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) by_node_[slots_[i].whole.node()] = i;
}

std::vector<core::Parameter> ShardedParameters::shards() {
  std::vector<core::Parameter> out;
  for (Slot& slot : slots_) {
    out.push_back(slot.parameter);
    out.back().array = &slot.shard;
  }
  return out;
}

std::vector<core::Parameter> ShardedParameters::parameters() const {
  std::vector<core::Parameter> out;
  for (const Slot& slot : slots_) out.push_back(slot.parameter);
  return out;
}

ShardedParameters::Slots ShardedParameters::missing(const Slots& slots) const {
  Slots out;
  for (const auto i : slots)
    if (!core::values_present(slots_[i].whole)) out.push_back(i);
  return out;
}

void ShardedParameters::gather(const Slots& slots) {
  if (fetch_) finish_fetch();
  auto absent = missing(slots);
  if (absent.empty()) return;
  start_fetch(std::move(absent));
  finish_fetch();
}

// Sets off the values of parameters whose values are not there. Shards that lie one after another in the
// whole come straight to their place; others come beside it, without this worker's own, which goes from where
// it is.
void ShardedParameters::start_fetch(Slots slots) {
  std::vector<std::vector<Message>> messages(teams_.size());
  Fetch& fetch = fetch_.emplace();
  for (const auto i : slots) {
    Slot& slot = slots_[i];
    const AxisCut& cut = slot.cut;
    const int rank = team(i).rank(), count = team(i).shards();
    core::make_room(slot.whole);
    const auto& way = *team(i).values;
    const auto incoming = cut.contiguous() ? slot.whole : make_array({cut.elements() - cut.elements(rank)});
    Cargo own(way, slot.shard, Cargo::Use::read), others(way, incoming, Cargo::Use::write);
    const auto place_of = [&](int w) {
      return first_of_block(cut, w) - (!cut.contiguous() && w > rank ? cut.elements(rank) : 0);
    };
    for (int k = 1; k < count; ++k) {  // each begins with the next one, so that not all send to one at once
      const int to = (rank + k) % count, from = (rank + count - k) % count;
      messages[slot.team].push_back(own.to(to));
      messages[slot.team].push_back(others.from(from, place_of(from), cut.elements(from)));
    }
    fetch.travelling.push_back(std::move(own));
    fetch.travelling.push_back(std::move(others));
    fetch.incoming.push_back(incoming);
  }
  fetch.slots = std::move(slots);
  for (std::size_t t = 0; t < teams_.size(); ++t)
    teams_[t]->values->start_exchange(messages[t], "parameters");
}

void ShardedParameters::finish_fetch() {
  const trace::Span span("gather block", "parameters", static_cast<std::int64_t>(fetch_->slots.size()));
  for (const auto& team : teams_) team->values->finish_exchange();
  fetch_->travelling.clear();
  for (std::size_t k = 0; k < fetch_->slots.size(); ++k) {
    Slot& slot = slots_[fetch_->slots[k]];
    if (slot.cut.contiguous()) {
      slot.cut.insert(team(fetch_->slots[k]).rank(), slot.shard, slot.whole);
      continue;
    }
    std::int64_t first = 0;
    for (int w = 0; w < slot.cut.workers(); ++w) {
      if (w == teams_[slot.team]->rank()) {
        slot.cut.insert(w, slot.shard, slot.whole);
        continue;
      }
      slot.cut.insert(w, core::elements(fetch_->incoming[k], first, slot.cut.sizes(w)), slot.whole);
      first += slot.cut.elements(w);
    }
  }
  fetch_.reset();
}

// What was needed the last time after the same two; learns what is needed now.
ShardedParameters::Slots ShardedParameters::follower(const Slots& wanted) {
  next_[{before_, now_}] = wanted;
  before_ = std::move(now_);
  now_ = wanted;
  const auto found = next_.find({before_, now_});
  return found == next_.end() ? Slots() : found->second;
}

void ShardedParameters::drop(Slot& slot) {
  if (!slot.cut.replicated()) core::drop_values(slot.whole);
}

void ShardedParameters::hold(std::span<const core::Array> parameters) {
  Slots held;
  for (const auto& p : parameters) {
    const auto found = by_node_.find(p.node());
    if (found == by_node_.end()) continue;
    held.push_back(found->second);
    slots_[found->second].held = true;
  }
  gather(held);
}

void ShardedParameters::need(std::span<const core::Array> parameters) {
  Slots wanted;
  for (const auto& p : parameters) {
    const auto found = by_node_.find(p.node());
    if (found != by_node_.end() && !slots_[found->second].cut.replicated() && !slots_[found->second].held)
      wanted.push_back(found->second);
  }
  if (fetch_) {
    const Slots came = fetch_->slots;
    finish_fetch();
    present_.insert(present_.end(), came.begin(), came.end());
  }
  for (const auto i : present_) {
    if (!slots_[i].held && std::find(wanted.begin(), wanted.end(), i) == wanted.end()) drop(slots_[i]);
  }
  gather(wanted);
  present_ = wanted;
  if (auto next = missing(follower(wanted)); !next.empty()) start_fetch(std::move(next));
}

void ShardedParameters::release() {
  if (fetch_) finish_fetch();
  for (Slot& slot : slots_) {
    drop(slot);
    slot.held = false;
  }
  present_.clear();
}

void ShardedParameters::store(std::size_t i, const core::Array& whole) {
  Slot& slot = slots_[i];
  if (slot.cut.replicated())
    core::copy_into(slot.shard, whole);
  else
    slot.cut.extract(team(i).rank(), whole, slot.shard);
}

core::Array ShardedParameters::assemble(std::size_t i, const core::Array& shard, int worker) const {
  const auto& cut = slots_[i].cut;
  const auto& team = this->team(i);
  const int to = worker / team.lanes_each;  // its number in the team
  if (cut.replicated()) return team.workers->rank() == to ? shard : core::Array();
  auto& ranks = *team.replica_ranks;
  const int each = ranks.size(), rank = ranks.rank(), at = to % each;
  if (team.workers->rank() / each != to / each) return {};  // of another replica
  if (rank != at) {
    if (shard.numel() == 0) return {};
    const Cargo own(ranks, shard, Cargo::Use::read);
    ranks.exchange_all(std::vector{own.to(at)}, "assemble");
    return {};
  }
  core::Array staging = make_array({cut.elements()}), whole = make_array(slots_[i].whole.sizes());
  Cargo values(ranks, staging, Cargo::Use::write);
  std::vector<Message> messages;
  for (int w = 0; w < cut.workers(); ++w)
    if (w != rank) messages.push_back(values.from(w, first_of_block(cut, w), cut.elements(w)));
  ranks.exchange_all(messages, "assemble");
  values.finish();
  for (int w = 0; w < cut.workers(); ++w) cut.insert(w, w == rank ? shard : block_in(cut, w, staging), whole);
  return whole;
}

core::Array ShardedParameters::spread(std::size_t i, const core::Array& whole, int worker) const {
  const auto& cut = slots_[i].cut;
  const auto& team = this->team(i);
  auto& ranks = *team.replica_ranks;
  const int rank = ranks.rank(), from = worker / team.lanes_each % ranks.size();
  if (cut.replicated()) {
    auto out = rank == from ? whole : make_array(slots_[i].whole.sizes());
    Cargo values(ranks, out, rank == from ? Cargo::Use::read : Cargo::Use::write);
    ranks.broadcast(from, values.bytes(), values.memory());
    values.finish();
    return out;
  }
  auto shard = make_array(cut.sizes(rank));
  if (rank != from) {
    if (shard.numel() == 0) return shard;
    Cargo own(ranks, shard, Cargo::Use::write);
    ranks.exchange_all(std::vector{own.from(from)}, "spread");
    own.finish();
    return shard;
  }
  core::Array staging = make_array({cut.elements()});
  for (int w = 0; w < cut.workers(); ++w) {
    core::Array to = w == rank ? shard : block_in(cut, w, staging);
    cut.extract(w, whole, to);
  }
  const Cargo values(ranks, staging, Cargo::Use::read);
  std::vector<Message> messages;
  for (int w = 0; w < cut.workers(); ++w)
    if (w != rank) messages.push_back(values.to(w, first_of_block(cut, w), cut.elements(w)));
  ranks.exchange_all(messages, "spread");
  return shard;
}

core::Array ShardedParameters::shard_of(std::size_t i, const core::Array& whole) const {
  const auto& cut = slots_[i].cut;
  if (cut.replicated()) return whole;
  auto shard = make_array(cut.sizes(team(i).rank()));
  cut.extract(team(i).rank(), whole, shard);
  return shard;
}

std::vector<ShardRanks> ShardedParameters::shard_ranks() {
  std::vector<ShardRanks> out;
  for (std::size_t t = 0; t < teams_.size(); ++t) {
    auto& ranks = out.emplace_back(ShardRanks{teams_[t]->of_replica.get(), {}});
    for (const auto i : trained()) ranks.cut.push_back(slots_[i].team == t && !slots_[i].cut.replicated());
  }
  return out;
}

std::vector<std::size_t> ShardedParameters::trained() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].parameter.trainable) out.push_back(i);
  return out;
}

}  // namespace bora::mesh
