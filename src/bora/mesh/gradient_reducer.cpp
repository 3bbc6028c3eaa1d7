// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/gradient_reducer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bora/base/trace.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"

namespace bora::mesh {

GradientReducer::GradientReducer(std::shared_ptr<Communicator> workers,
                                 const std::vector<core::Parameter>& model,
                                 std::vector<core::Parameter> parameters, std::vector<BlockHolders> holders,
                                 ShardedParameters* store)
    : workers_(std::move(workers)),
      parameters_(std::move(parameters)),
      holders_(std::move(holders)),
      whole_arrays_(workers_, store, model) {
  for (const auto& p : model) arrays_.push_back(p.array);
  const auto* mapping = core::mapping();
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m) {
    BlockHolders axis{&mapping->workers(m), {}};
    for (const auto* a : arrays_) axis.cut.push_back(core::cuts_of(*a)[m] >= 0);
    if (std::find(axis.cut.begin(), axis.cut.end(), true) != axis.cut.end())
      holders_.push_back(std::move(axis));
  }
}

LaneSum GradientReducer::reduce(std::int64_t lanes, const LossOfLane& loss_of) {
  auto sum = sum_lanes(lanes, loss_of);
  if (core::mapping() == nullptr) return sum;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!sum.arrays[i].empty()) core::sum_pending(*arrays_[i], parameters_[i].path, sum.arrays[i]);
  }
  return sum;
}

GradientReducer::Scalars GradientReducer::run_lane(
    std::int64_t lane, const LossOfLane& loss_of,
    const std::function<core::Array(const Loss&)>& differentiate) {
  Scalars scalars{0};
  std::optional<trace::Span> backward;
  const auto loss = differentiate([&] {
    auto forward = loss_of(lane);
    scalars.push_back(forward.weight);
    metrics_.add(forward.metrics);
    for (const auto& m : forward.metrics) scalars.insert(scalars.end(), {m.sum, m.weight});
    backward.emplace("backward", "lane", lane);
    return forward.loss;
  });
  backward.reset();
  scalars[0] = loss.item();
  return scalars;
}

GradientReducer::Scalars GradientReducer::add_gradients(std::int64_t lane, const LossOfLane& loss_of,
                                                        std::vector<core::Array>& into) {
  return run_lane(lane, loss_of,
                  [&](const Loss& loss) { return core::accumulate_gradients(arrays_, loss, into); });
}

std::size_t GradientReducer::agree_on_scalars() {
  metrics_.agree(workers());
  return 2 + 2 * metrics_.all().size();
}

std::vector<MetricSum> GradientReducer::metrics_of(const LaneSum& sum) const {
  std::vector<MetricSum> out;
  for (std::size_t i = 0; i < metrics_.all().size(); ++i)
    out.push_back({metrics_.all()[i], sum.scalars[2 + 2 * i], sum.scalars[3 + 2 * i]});
  return out;
}

}  // namespace bora::mesh
