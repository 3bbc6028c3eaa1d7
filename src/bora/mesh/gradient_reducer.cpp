// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/gradient_reducer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/mesh/sharded_parameters.h"

namespace bora::mesh {
namespace {

// The model's parameters of which `parameters` are this worker's part, in their order.
std::vector<core::Parameter> of_model(const std::vector<core::Parameter>& model,
                                      const std::vector<core::Parameter>& parameters) {
  std::vector<core::Parameter> out;
  for (const auto& p : parameters) {
    const auto same = [&](const auto& other) { return other.path == p.path; };
    out.push_back(*std::find_if(model.begin(), model.end(), same));
  }
  return out;
}

// Added up over lanes, other experts' gradients would come into these.
void refuse_other_experts(const std::vector<core::Parameter>& parameters) {
  const auto* mapping = core::mapping();
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m) {
    for (const auto& p : parameters) {
      if (!mapping->own_lanes(m) || core::cuts_of(*p.array)[m] < 0) continue;
      fail(ErrorKind::Unsupported,
           "gradients: {} lies in shards over the mesh axis {}, whose workers compute different lanes\nhint: "
           "make_sharded_reducer, with ShardedParameters for {} experts",
           p.path, mapping->mesh_axis(m).name, mapping->workers(m).size());
    }
  }
}

}  // namespace

GradientReducer::GradientReducer(std::shared_ptr<Communicator> workers,
                                 const std::vector<core::Parameter>& model,
                                 std::vector<core::Parameter> parameters, std::vector<ShardRanks> shard_ranks,
                                 ShardedParameters* store)
    : workers_(std::move(workers)),
      parameters_(core::trainable_parameters(std::move(parameters))),
      shard_ranks_(std::move(shard_ranks)),
      whole_arrays_(workers_, store, of_model(model, parameters_)) {
  for (const auto& p : core::trainable_parameters(model)) arrays_.push_back(p.array);
  if (store == nullptr || store->experts() == 1) refuse_other_experts(core::trainable_parameters(model));
  const auto* mapping = core::mapping();
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m) {
    ShardRanks axis{&mapping->workers(m), {}};
    for (const auto* a : arrays_) axis.cut.push_back(core::cuts_of(*a)[m] >= 0);
    if (std::find(axis.cut.begin(), axis.cut.end(), true) != axis.cut.end())
      shard_ranks_.push_back(std::move(axis));
  }
}

GradientSum GradientReducer::reduce(std::int64_t lanes, const LossOfLane& loss_of) {
  return reduce(lanes, Work{loss_of});
}

GradientSum GradientReducer::reduce(std::int64_t lanes, const LanePass& pass, core::StepGraphs* graphs) {
  return reduce(lanes, Work{[&](std::int64_t lane) { return pass.loss(pass.inputs(lane)); }, &pass, graphs});
}

GradientSum GradientReducer::reduce(std::int64_t lanes, const Work& work) {
  numbers_.clear();
  GradientSum sum{sum_lanes(lanes, work), {}};
  if (core::mapping() != nullptr) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!sum.arrays[i].empty()) core::sum_pending(*arrays_[i], parameters_[i].path, sum.arrays[i]);
    }
  }
  metrics_.agree(workers());
  const auto own = read_own_scalars(lanes, sum);
  sum.scalars = sum_scalars(lanes, own, 2 + 2 * metrics_.all().size());
  return sum;
}

// With the squares of the gradients, where these need nothing from other ranks: the host waits once.
std::map<std::int64_t, GradientReducer::Scalars> GradientReducer::read_own_scalars(std::int64_t lanes,
                                                                                   GradientSum& sum) {
  const trace::Span span("gradient norm");
  core::ReadBack read;
  std::map<std::int64_t, std::size_t> first;
  for (const auto& [lane, numbers] : numbers_) {
    if (!owns(lane, lanes)) continue;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto place = read.add(numbers[i]);
      if (i == 0) first[lane] = place;
    }
  }
  std::optional<PendingSquares> squares;
  if (shard_ranks_.empty()) squares.emplace(sum.arrays, read);
  read.wait();
  sum.squares = squares ? squares->values(read) : sums_of_squares(sum.arrays, shard_ranks_);
  std::map<std::int64_t, Scalars> own;
  for (const auto& [lane, place] : first) {
    auto& scalars = own[lane];
    for (std::size_t i = 0; i < numbers_[lane].size(); ++i) scalars.push_back(read.value(place + i));
  }
  return own;
}

GradientReducer::Scalars GradientReducer::sum_scalars(std::int64_t lanes,
                                                      const std::map<std::int64_t, Scalars>& own,
                                                      std::size_t count) {
  std::vector<double> mine;  // of each lane its number and its scalars
  for (const auto& [lane, scalars] : own) {
    mine.push_back(static_cast<double>(lane));
    mine.insert(mine.end(), scalars.begin(), scalars.end());
  }
  LaneTree tree(lanes, 0);
  const auto push = [&](std::span<const double> lane) {
    tree.push({static_cast<std::int64_t>(lane[0]), 1, {}, {lane.begin() + 1, lane.end()}});
  };
  for (const auto& bytes : workers().all_gather_unequal(std::as_bytes(std::span(mine)))) {
    std::vector<double> theirs(bytes.size() / sizeof(double));  // of a rank without a lane none
    if (!bytes.empty()) std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (std::size_t at = 0; at < theirs.size(); at += count + 1)
      push(std::span(theirs).subspan(at, count + 1));
  }
  return tree.take_total().scalars;
}

std::vector<core::Number> GradientReducer::numbers_of(std::int64_t lane,
                                                      const std::function<LaneLoss()>& forward,
                                                      const Differentiate& differentiate) {
  std::vector<core::Number> numbers(1);
  std::optional<trace::Span> backward;
  const auto loss = differentiate([&] {
    trace::Span going("forward", "lane", lane);
    auto result = forward();
    going.end();
    numbers.push_back(result.weight);
    std::vector<std::string> names;
    for (const auto& m : result.metrics) {
      names.push_back(m.name);
      numbers.insert(numbers.end(), {m.sum, m.weight});
    }
    metrics_.add(names);
    backward.emplace("backward", "lane", lane);
    return result.loss;
  });
  numbers[0] = loss;
  return numbers;
}

// A rank without a lane of its own may compute one a second time.
void GradientReducer::run_lane(std::int64_t lane, const Work& work, const Differentiate& differentiate) {
  numbers_[lane] = numbers_of(lane, [&] { return work.loss_of(lane); }, differentiate);
}

void GradientReducer::add_gradients(std::int64_t lane, const Work& work, std::vector<core::Array>& into) {
  if (work.graphs == nullptr) {
    return run_lane(lane, work,
                    [&](const Loss& loss) { return core::accumulate_gradients(arrays_, loss, {into}); });
  }
  const auto pass = [&](const core::PassInputs& inputs, const core::GradientPlaces& to) {
    return numbers_of(
        lane, [&] { return work.pass->loss(inputs); },
        [&](const Loss& loss) { return core::accumulate_gradients(arrays_, loss, to); });
  };
  numbers_[lane] = work.graphs->run(work.pass->inputs(lane), into, pass);
}

std::vector<MetricSum> GradientReducer::metrics_of(const LaneSum& sum) const {
  std::vector<MetricSum> out;
  for (std::size_t i = 0; i < metrics_.all().size(); ++i)
    out.push_back({metrics_.all()[i], sum.scalars[2 + 2 * i], sum.scalars[3 + 2 * i]});
  return out;
}

}  // namespace bora::mesh
