// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/sharded_parameters.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/create.h"
#include "bora/core/kernels/cpu/threads.h"

namespace bora::mesh {
namespace {

core::Array make_array(const std::vector<std::int64_t>& sizes) {
  constexpr std::string_view kNames[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
  return core::uninitialized({core::Names(kNames).first(sizes.size()), sizes});
}

std::span<std::byte> bytes_of(float* data, std::int64_t elements) {
  return {reinterpret_cast<std::byte*>(data), static_cast<std::size_t>(elements) * sizeof(float)};
}

// Where each worker's block begins in an array of all blocks one after another, in bytes.
std::vector<std::size_t> block_bounds(const AxisCut& cut) {
  std::vector<std::size_t> bounds{0};
  for (int w = 0; w < cut.workers(); ++w)
    bounds.push_back(bounds.back() + static_cast<std::size_t>(cut.elements(w)) * sizeof(float));
  return bounds;
}

}  // namespace

ShardedParameters::ShardedParameters(std::shared_ptr<Communicator> workers, std::vector<std::string> axes,
                                     int replicas)
    : workers_(std::move(workers)), holders_(workers_), axes_(std::move(axes)) {
  if (replicas > 1) {
    const int each = workers_->size() / replicas;
    holders_ = workers_->split(workers_->rank() / each, workers_->rank());
  }
  of_holders_ = std::make_unique<AxisCollectives>(holders_);
  values_ = holders_->split(0, holders_->rank());
  for (auto& way : sums_) way = holders_->split(0, holders_->rank());
  const std::shared_ptr<Communicator> alone = replicas > 1 ? nullptr : make_self_communicator();
  for (auto& way : across_) way = alone ? alone : workers_->split(holders_->rank(), workers_->rank());
  between_chunks_ = std::make_unique<kernels::BetweenChunks>([this] { look(); });
}
ShardedParameters::~ShardedParameters() = default;

// MPI moves messages while it is called; the time between two calls is what a message may wait.
void ShardedParameters::look() {
  constexpr double kBetweenLooks = 50e-6;
  const double now = monotonic_seconds();
  if (now - looked_ < kBetweenLooks) return;
  values_->progress();
  for (const auto& way : sums_) way->progress();
  for (const auto& way : across_) way->progress();
  looked_ = now;
}

std::size_t ShardedParameters::take(core::Array& parameter, core::Names names) {
  Slot slot;
  slot.whole = parameter;
  slot.names.assign(names.begin(), names.end());
  slot.cut = AxisCut::along(axes_, names, parameter.sizes(), holders_->size());
  slot.block = slot.cut.whole() ? parameter : make_array(slot.cut.sizes(holders_->rank()));
  if (!slot.cut.whole()) {
    slot.cut.take(holders_->rank(), parameter.data<float>(), slot.block.data<float>());
    core::drop_values(slot.whole);
  }
  by_node_[parameter.node()] = slots_.size();
  slots_.push_back(std::move(slot));
  return slots_.size() - 1;
}

void ShardedParameters::created(core::Array& parameter, core::Names names) { take(parameter, names); }

void ShardedParameters::adopt(std::span<const core::ParamRef> parameters) {
  std::vector<Slot> ordered;
  for (const auto& p : parameters) {
    const auto found = by_node_.find(p.array->node());
    const auto at = found != by_node_.end() ? found->second : take(*p.array, p.names);
    slots_[at].parameter = p;
    slots_[at].names = p.names;
    ordered.push_back(slots_[at]);
  }
  slots_ = std::move(ordered);
  by_node_.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) by_node_[slots_[i].whole.node()] = i;
}

std::vector<core::ParamRef> ShardedParameters::shards() {
  std::vector<core::ParamRef> out;
  for (Slot& slot : slots_) {
    out.push_back(slot.parameter);
    out.back().array = &slot.block;
  }
  return out;
}

ShardedParameters::Slots ShardedParameters::missing(const Slots& slots) const {
  Slots out;
  for (const auto i : slots)
    if (!core::values_present(slots_[i].whole)) out.push_back(i);
  return out;
}

void ShardedParameters::gather(const Slots& slots) {
  if (fetch_) arrive();
  auto absent = missing(slots);
  if (absent.empty()) return;
  begin(std::move(absent));
  arrive();
}

// Sets off the values of parameters whose values are not there. Blocks that lie one after another in the
// whole come straight to their place; others come beside it, without this worker's own, which goes from where
// it is.
void ShardedParameters::begin(Slots slots) {
  const auto rank = holders_->rank(), count = holders_->size();
  std::vector<Message> messages;
  Fetch& fetch = fetch_.emplace();
  for (const auto i : slots) {
    Slot& slot = slots_[i];
    const AxisCut& cut = slot.cut;
    core::make_room(slot.whole);
    const auto own = bytes_of(slot.block.data<float>(), slot.block.numel());
    const auto arrives = cut.contiguous() ? slot.whole : make_array({cut.elements() - cut.elements(rank)});
    std::vector<std::span<std::byte>> room(static_cast<std::size_t>(count));
    auto rest = bytes_of(arrives.data<float>(), arrives.numel());
    for (int w = 0; w < count; ++w) {
      if (w == rank && !cut.contiguous()) continue;
      const auto bytes = static_cast<std::size_t>(cut.elements(w)) * sizeof(float);
      room[static_cast<std::size_t>(w)] = rest.first(bytes);
      rest = rest.subspan(bytes);
    }
    if (cut.contiguous()) std::copy(own.begin(), own.end(), room[static_cast<std::size_t>(rank)].begin());
    for (int k = 1; k < count; ++k) {  // each begins with the next one, so that not all send to one at once
      const int to = (rank + k) % count, from = (rank + count - k) % count;
      const auto in = room[static_cast<std::size_t>(from)];
      if (!own.empty()) messages.push_back({to, own, {}});
      if (!in.empty()) messages.push_back({from, {}, in});
    }
    fetch.arrives.push_back(arrives);
  }
  fetch.slots = std::move(slots);
  values_->begin(messages, "parameters");
}

void ShardedParameters::arrive() {
  const trace::Span span("gather block", "parameters", static_cast<std::int64_t>(fetch_->slots.size()));
  values_->settle();
  for (std::size_t k = 0; k < fetch_->slots.size(); ++k) {
    Slot& slot = slots_[fetch_->slots[k]];
    if (slot.cut.contiguous()) continue;
    const float* block = fetch_->arrives[k].data<float>();
    for (int w = 0; w < slot.cut.workers(); ++w) {
      const bool own = w == holders_->rank();
      slot.cut.put(w, own ? slot.block.data<float>() : block, slot.whole.data<float>());
      if (!own) block += slot.cut.elements(w);
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
  if (!slot.cut.whole()) core::drop_values(slot.whole);
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
    if (found != by_node_.end() && !slots_[found->second].cut.whole() && !slots_[found->second].held)
      wanted.push_back(found->second);
  }
  if (fetch_) {
    const Slots came = fetch_->slots;
    arrive();
    present_.insert(present_.end(), came.begin(), came.end());
  }
  for (const auto i : present_) {
    if (!slots_[i].held && std::find(wanted.begin(), wanted.end(), i) == wanted.end()) drop(slots_[i]);
  }
  gather(wanted);
  present_ = wanted;
  if (auto next = missing(follower(wanted)); !next.empty()) begin(std::move(next));
}

void ShardedParameters::release() {
  if (fetch_) arrive();
  for (Slot& slot : slots_) {
    drop(slot);
    slot.held = false;
  }
  present_.clear();
}

void ShardedParameters::store(std::size_t i, const core::Array& whole) {
  Slot& slot = slots_[i];
  const auto* from = whole.data<float>();
  if (slot.cut.whole())
    std::copy(from, from + whole.numel(), slot.block.data<float>());
  else
    slot.cut.take(holders_->rank(), from, slot.block.data<float>());
}

core::Array ShardedParameters::assemble(std::size_t i, const core::Array& block, int worker) const {
  const auto& cut = slots_[i].cut;
  if (cut.whole()) return workers_->rank() == worker ? block : core::Array();
  const int each = holders_->size(), rank = holders_->rank(), at = worker % each;
  if (workers_->rank() / each != worker / each) return {};  // of another replica
  if (rank != at) {
    const auto own = bytes_of(const_cast<core::Array&>(block).data<float>(), block.numel());
    if (!own.empty())
      holders_->exchange_all(std::vector<Message>{{.peer = at, .out = own, .in = {}}}, "assemble");
    return {};
  }
  const auto bounds = block_bounds(cut);
  core::Array staging = make_array({cut.elements()}), whole = make_array(slots_[i].whole.sizes());
  std::vector<Message> messages;
  for (int w = 0; w < cut.workers(); ++w) {
    if (w == rank || cut.elements(w) == 0) continue;
    float* to = staging.data<float>() + bounds[static_cast<std::size_t>(w)] / sizeof(float);
    messages.push_back({.peer = w, .out = {}, .in = bytes_of(to, cut.elements(w))});
  }
  holders_->exchange_all(messages, "assemble");
  for (int w = 0; w < cut.workers(); ++w) {
    const float* from = w == rank
                            ? block.data<float>()
                            : staging.data<float>() + bounds[static_cast<std::size_t>(w)] / sizeof(float);
    cut.put(w, from, whole.data<float>());
  }
  return whole;
}

core::Array ShardedParameters::block_of(std::size_t i, const core::Array& whole) const {
  const auto& cut = slots_[i].cut;
  if (cut.whole()) return whole;
  auto block = make_array(cut.sizes(holders_->rank()));
  cut.take(holders_->rank(), whole.data<float>(), block.data<float>());
  return block;
}

BlockHolders ShardedParameters::holders() {
  BlockHolders out{of_holders_.get(), {}};
  for (const Slot& slot : slots_) out.cut.push_back(!slot.cut.whole());
  return out;
}

ShardedGradients::ShardedGradients(ShardedParameters& store, std::int64_t lanes)
    : store_(store), lanes_(lanes), scalars_(lanes, 0), touched_(store.size()) {
  for (std::size_t i = 0; i < store.size(); ++i) trees_.emplace_back(lanes, 1);
}

std::int64_t ShardedGradients::rounds() const {
  const std::int64_t w = store_.workers().size();
  return (lanes_ + w - 1) / w;
}

std::int64_t ShardedGradients::lane(std::int64_t round) const {
  const std::int64_t own = store_.workers().rank(), at = round * store_.workers().size() + own;
  return at < lanes_ ? at : std::min(own, lanes_ - 1);
}

bool ShardedGradients::counts(std::int64_t round, int worker) const {
  return round * store_.workers().size() + worker < lanes_;
}

// Of the workers of a replica, in a round.
LaneRange ShardedGradients::lanes_of(std::int64_t round, int replica) const {
  const std::int64_t each = store_.holders_->size();
  const std::int64_t first = std::min(round * store_.workers().size() + replica * each, lanes_);
  return {first, std::min(each, lanes_ - first)};
}

// The pieces travel while the next gradients are computed: first within the replica; what its lanes add up to
// goes to the other replicas.
void ShardedGradients::add(std::int64_t round, std::size_t i, const core::Array& gradient) {
  auto& holders = *store_.holders_;
  const auto& cut = store_.cut(i);
  const trace::Span span("reduce-scatter", "elements", gradient.numel());
  const int rank = holders.rank();
  const auto lanes = lanes_of(round, replica()).lanes;  // of workers 0, 1, ... of the replica
  touched_[i] = true;
  const std::int64_t bytes = gradient.numel() * std::int64_t{sizeof(float)};
  while (!pieces_.empty() && (pieces_.size() == kWays || flying_bytes_ + bytes > kMostFlying)) arrive();
  std::vector<core::Array> out(static_cast<std::size_t>(holders.size())), in(out.size());
  std::vector<Message> messages;
  for (int w = 0; w < holders.size(); ++w) {
    const auto at = static_cast<std::size_t>(w);
    const bool sends = rank < lanes, receives = w < lanes;
    if (sends) {
      if (cut.whole()) {
        out[at] = gradient;
      } else {
        out[at] = make_array(cut.sizes(w));
        cut.take(w, gradient.data<float>(), out[at].data<float>());
      }
    }
    if (w == rank) continue;
    if (receives) in[at] = make_array(cut.whole() ? gradient.sizes() : cut.sizes(rank));
    Message m{.peer = w, .out = {}, .in = {}};
    if (sends) m.out = bytes_of(out[at].data<float>(), out[at].numel());
    if (receives) m.in = bytes_of(in[at].data<float>(), in[at].numel());
    if (!m.out.empty() || !m.in.empty()) messages.push_back(m);
  }
  in[static_cast<std::size_t>(rank)] = out[static_cast<std::size_t>(rank)];
  auto& way = *store_.sums_[next_way_++ % kWays];
  flying_bytes_ += bytes;
  pieces_.push_back({&way, round, i, bytes, std::move(out), std::move(in)});
  way.begin(messages, "gradients");
}

void ShardedGradients::arrive() {
  Pieces came = std::move(pieces_.front());
  pieces_.pop_front();
  {
    const trace::Span span("wait");
    came.way->settle();
  }
  flying_bytes_ -= came.bytes;
  LaneTree own(lanes_, 1);
  const auto lanes = lanes_of(came.round, replica());
  for (std::int64_t k = 0; k < lanes.lanes; ++k)
    own.push({lanes.first + k, 1, {std::move(came.in[static_cast<std::size_t>(k)])}, {}});
  pass_on(came.round, came.parameter, own.take_nodes());
}

// To the workers with the same block in the other replicas.
void ShardedGradients::pass_on(std::int64_t round, std::size_t i, std::vector<LaneSum> own) {
  if (passed_on_.size() == kWays) arrive_from_replicas();
  const auto& cut = store_.cut(i);
  const auto sizes = cut.whole() ? store_.slots_[i].whole.sizes() : cut.sizes(store_.block());
  auto& across = *store_.across_[next_way_across_++ % kWays];
  auto& passed = passed_on_.emplace_back(Passed{&across, i, std::move(own), {}});
  std::vector<Message> messages;
  for (int k = 1; k < across.size(); ++k) {
    const int to = (across.rank() + k) % across.size(),
              from = (across.rank() + across.size() - k) % across.size();
    for (const auto& node : passed.own)
      messages.push_back({to, bytes_of(node.arrays[0].data<float>(), node.arrays[0].numel()), {}});
    for (const auto& node : subtrees(lanes_of(round, from))) {
      auto& array = passed.others.emplace_back(LaneSum{node.first, node.lanes, {make_array(sizes)}, {}});
      messages.push_back({from, {}, bytes_of(array.arrays[0].data<float>(), array.arrays[0].numel())});
    }
  }
  across.begin(messages, "gradients of replicas");
  if (across.size() == 1) arrive_from_replicas();
}

void ShardedGradients::arrive_from_replicas() {
  Passed came = std::move(passed_on_.front());
  passed_on_.pop_front();
  {
    const trace::Span span("wait");
    came.way->settle();
  }
  for (auto* nodes : {&came.own, &came.others})
    for (auto& node : *nodes) trees_[came.parameter].push(std::move(node));
}

void ShardedGradients::finish(std::int64_t round, std::span<const double> scalars) {
  while (!pieces_.empty()) arrive();
  while (!passed_on_.empty()) arrive_from_replicas();
  auto& workers = store_.workers();
  std::vector<double> all(scalars.size() * static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(scalars), std::as_writable_bytes(std::span(all)));
  for (int w = 0; w < workers.size(); ++w) {
    if (!counts(round, w)) continue;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(scalars.size()) * w;
    scalars_.push(
        {round * workers.size() + w, 1, {}, {first, first + static_cast<std::ptrdiff_t>(scalars.size())}});
  }
}

LaneSum ShardedGradients::take_total() {
  LaneSum total = scalars_.take_total();
  for (std::size_t i = 0; i < trees_.size(); ++i)
    total.arrays.push_back(touched_[i] ? std::move(trees_[i].take_total().arrays[0]) : core::Array());
  return total;
}

}  // namespace bora::mesh
