// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/whole_arrays.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/mapping.h"
#include "bora/core/parameter_store.h"
#include "bora/mesh/axis_cut.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/plain_arrays.h"
#include "bora/mesh/sharded_parameters.h"

namespace bora::mesh {
namespace {

int workers_of_mapping() {
  const auto* mapping = core::mapping();
  int out = 1;
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m) out *= mapping->workers(m).size();
  return out;
}

// Workers among whom the parameters of this thread are kept in shards.
int workers_of_store() {
  const auto* store = dynamic_cast<const ShardedParameters*>(core::parameter_store());
  return store == nullptr ? 1 : store->workers()->size();
}

}  // namespace

WholeArrays::WholeArrays(std::shared_ptr<Communicator> lanes, ShardedParameters* store,
                         std::vector<core::Parameter> parameters)
    : lanes_(std::move(lanes)), store_(store), parameters_(std::move(parameters)) {
  if (store == nullptr) return;
  std::map<std::string, std::size_t> by_path;
  const auto stored = store->parameters();
  for (std::size_t i = 0; i < stored.size(); ++i) by_path[stored[i].path] = i;
  for (const auto& p : parameters_) slots_.push_back(by_path.at(p.path));
}

int WholeArrays::owners() const {
  if (store_ != nullptr) return store_->group_count();
  return lanes_ == nullptr ? 1 : lanes_->size();
}

int WholeArrays::own() const {
  if (store_ != nullptr) return store_->group();
  return lanes_ == nullptr ? 0 : lanes_->rank();
}

void WholeArrays::require_known() const {
  if (parameters_.empty() && workers_of_mapping() > 1) {
    fail(ErrorKind::InvalidArgument,
         "whole arrays: made for one worker, but {} share a lane here\nhint: give the step "
         "the whole arrays of its gradient reducer",
         workers_of_mapping());
  }
  if (parameters_.empty() && workers_of_store() > 1) {
    fail(ErrorKind::InvalidArgument,
         "whole arrays: made for one worker, but parameters are in shards over {} here\n"
         "hint: give the step the whole arrays of its gradient reducer",
         workers_of_store());
  }
}

// From the whole array inwards: the axes of the mapping, then the workers of different lanes.
kernels::WholeIndex WholeArrays::place(std::size_t i) const {
  require_known();
  std::vector<kernels::WholeIndex::Cut> made;
  const auto* mapping = core::mapping();
  if (mapping != nullptr && !parameters_.empty()) {
    const auto& parameter = *parameters_[i].array;
    const auto cuts = core::cuts_of(parameter);
    auto sizes = core::whole_sizes(parameter);
    for (std::size_t m = 0; m < mapping->size(); ++m) {
      if (cuts[m] < 0) continue;
      const auto& workers = mapping->workers(m);
      const AxisCut cut(sizes, cuts[m], workers.size());
      made.push_back(cut.place(workers.rank()));
      sizes = cut.sizes(workers.rank());
    }
  }
  if (store_ != nullptr) {
    const auto& cut = store_->cut(slots_[i]);
    if (!cut.replicated()) made.push_back(cut.place(store_->shard_index(slots_[i])));
  }
  kernels::WholeIndex out;
  for (auto cut = made.rbegin(); cut != made.rend(); ++cut) out.cut[out.cuts++] = *cut;
  return out;
}

void WholeArrays::transform(std::span<const std::size_t> which, const ShardOf& shard_of, const Compute& f,
                            const Receive& receive) const {
  require_known();
  const int each = owners(), rank = own();
  for (std::size_t first = 0; first < which.size(); first += static_cast<std::size_t>(each)) {
    const auto round = which.subspan(first, std::min<std::size_t>(each, which.size() - first));
    core::Array own;
    for (std::size_t k = 0; k < round.size(); ++k) {
      const auto owner = static_cast<int>(k);
      auto whole = gather(round[k], shard_of(round[k]), owner);
      if (owner == rank) own = std::move(whole);
    }
    if (static_cast<std::size_t>(rank) < round.size()) {
      const auto i = round[static_cast<std::size_t>(rank)];
      own = of_lane(i, compute(i, own, f));
    }
    for (std::size_t k = 0; k < round.size(); ++k)
      receive(round[k], spread(round[k], own, static_cast<int>(k)));
  }
}

// On every rank of a group: its own experts, or all.
core::Array WholeArrays::of_group(std::size_t i, const core::Array& shard, int owner) const {
  const int times = store_->of_experts(slots_[i]) ? 1 : store_->experts();
  core::Array out;
  for (int e = 0; e < times; ++e) {
    auto there = store_->assemble(slots_[i], shard, store_->rank_of(owner, e));
    if (!there.empty()) out = std::move(there);
  }
  return out;
}

// On the owner; empty on the others.
core::Array WholeArrays::gather(std::size_t i, const core::Array& shard, int owner) const {
  auto of_lane = store_ != nullptr ? of_group(i, shard, owner) : shard;
  if (own() != owner) return {};
  if (core::mapping() == nullptr || parameters_.empty()) return of_lane;
  const auto& p = parameters_[i];
  return core::whole({core::like(*p.array, of_lane), p.axes});
}

core::Array WholeArrays::compute(std::size_t i, const core::Array& whole, const Compute& f) const {
  const core::MappingScope one_worker(nullptr);
  auto out = f(i, whole);
  const auto have = out.sizes(), want = whole.sizes();
  if (have != want) {
    fail(ErrorKind::InvalidArgument,
         "whole arrays: array {} has sizes [{}], but what was computed from it has [{}]\n"
         "hint: return an array of the same shape",
         parameters_.empty() ? std::to_string(i) : parameters_[i].path, fmt::join(want, ", "),
         fmt::join(have, ", "));
  }
  return out;
}

// The part that the workers at this one's place in a lane hold, cut as the parameter is over the mapping.
core::Array WholeArrays::of_lane(std::size_t i, const core::Array& whole) const {
  const auto* mapping = core::mapping();
  if (mapping == nullptr || parameters_.empty()) return whole;
  const auto cuts = core::cuts_of(*parameters_[i].array);
  auto out = whole;
  for (std::size_t m = 0; m < mapping->size(); ++m) {
    if (cuts[m] < 0) continue;
    const auto& workers = mapping->workers(m);
    const AxisCut cut(out.sizes(), cuts[m], workers.size());
    auto shard = make_array(cut.sizes(workers.rank()));
    cut.extract(workers.rank(), out, shard);
    out = std::move(shard);
  }
  return out;
}

// This worker's shard of what the owner has for the workers at its place in a lane.
core::Array WholeArrays::spread(std::size_t i, const core::Array& of_lane, int owner) const {
  if (store_ != nullptr) return store_->spread(slots_[i], of_lane, store_->rank_of(owner, 0));
  if (lanes_ == nullptr || lanes_->size() == 1) return of_lane;
  auto out = own() == owner ? of_lane : make_array(parameters_[i].array->sizes());
  Cargo values(*lanes_, out, own() == owner ? Cargo::Use::read : Cargo::Use::write);
  lanes_->broadcast(owner, values.bytes(), values.memory());
  values.finish();
  return out;
}

}  // namespace bora::mesh
