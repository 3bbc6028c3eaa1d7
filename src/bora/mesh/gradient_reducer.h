// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/core/read_back.h"
#include "bora/core/step_graph.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/lane_tree.h"
#include "bora/mesh/metric_sums.h"
#include "bora/mesh/square_sums.h"
#include "bora/mesh/whole_arrays.h"

namespace bora::mesh {

class ShardedParameters;

/// What the forward pass of a lane gives.
struct LaneLoss {
  core::Array loss;                      ///< a scalar, recorded: the sum whose gradient is wanted
  core::Number weight;                   ///< what counted in it
  std::vector<LaneMetric> metrics = {};  ///< the same names in all lanes
};
using LossOfLane = std::function<LaneLoss(std::int64_t lane)>;

/// The same in two parts, of which a device can note the second: what a lane is given, and the pass over it, which
/// depends on nothing else that changes.
struct LanePass {
  std::function<core::PassInputs(std::int64_t lane)> inputs;
  std::function<LaneLoss(const core::PassInputs& inputs)> loss;
};

/// What the lanes of a step add up to.
struct GradientSum : LaneSum {
  std::vector<double> squares;  ///< the sum of the squares of each array, on all ranks; see square_sums.h
};

/// Gradients of a step: every lane is computed, forward and backward, by the worker that owns it, and the
/// lanes of all workers are added up. How a gradient leaves the backward pass is each kind's own: into a
/// buffer of several lanes, or to other workers while the pass goes on.
///
///     const auto reducer = make_tree_reducer(workers, model.parameters());   // once
///     GradientSum sum = reducer->reduce(lanes, [&](std::int64_t lane) {
///       auto result = model.objective(rows of the lane);
///       return LaneLoss{result.loss, result.weight};
///     });
///     optimizer.step(reducer->parameters(), sum.arrays, ...);
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Whether this worker computes `lane` of `lanes`. Each lane is one worker's. Any thread may ask.
  virtual bool owns(std::int64_t lane, std::int64_t lanes) const = 0;

  /// The sum over `lanes` lanes, a power of two: an array for each of parameters(), empty where no lane
  /// touched one that is sharded, and as scalars loss and weight, then sum and weight of each metric. Calls
  /// `loss_of` for each lane that this worker owns; where all must compute together, a worker without one
  /// computes another's, which is not counted. A rank that computes all of a step alone waits for its device
  /// once, at the end. Collective.
  GradientSum reduce(std::int64_t lanes, const LossOfLane& loss_of);
  /// The same; each pass over a lane by one of `graphs`, unless that is null. Reducers whose gradients leave while the
  /// pass goes on need none.
  GradientSum reduce(std::int64_t lanes, const LanePass& pass, core::StepGraphs* graphs);
  /// The metrics among the scalars of a sum.
  std::vector<MetricSum> metrics_of(const LaneSum& sum) const;

  /// What optimizers work on, in the order of the model: those of its parameters that are trained, or this
  /// worker's shards of them.
  const std::vector<core::Parameter>& parameters() const { return parameters_; }
  /// Who has the other shards of arrays that lie as parameters() do; nobody where they are whole.
  std::span<const ShardRanks> shard_ranks() const { return shard_ranks_; }
  /// Whole arrays from those that lie as parameters() do.
  const WholeArrays& whole_arrays() const { return whole_arrays_; }
  /// Those that compute different lanes.
  Communicator& workers() const { return *workers_; }

 protected:
  /// `model`: what the forward pass uses, of which `parameters` are this worker's part. Those that are frozen
  /// have no gradients, and are left out.
  GradientReducer(std::shared_ptr<Communicator> workers, const std::vector<core::Parameter>& model,
                  std::vector<core::Parameter> parameters, std::vector<ShardRanks> shard_ranks = {},
                  ShardedParameters* store = nullptr);

  /// Of a step: the forward pass of a lane, and where add_gradients() may run passes as graphs, both parts of it.
  struct Work {
    LossOfLane loss_of;
    const LanePass* pass = nullptr;
    core::StepGraphs* graphs = nullptr;
  };
  /// The sum without its scalars: those of the lanes are kept by run_lane until all are computed.
  virtual LaneSum sum_lanes(std::int64_t lanes, const Work& work) = 0;

  using Scalars = std::vector<double>;  // loss, weight, and sum and weight of each metric
  /// Of all lanes, from those of the ones that this worker owns; `count` of each lane. Collective.
  virtual Scalars sum_scalars(std::int64_t lanes, const std::map<std::int64_t, Scalars>& own,
                              std::size_t count);

  using Loss = std::function<core::Array()>;
  using Differentiate = std::function<core::Array(const Loss&)>;
  /// A lane's forward and backward pass, of which `differentiate` does the second: one of core/grad.h.
  void run_lane(std::int64_t lane, const Work& work, const Differentiate& differentiate);
  /// The same, adding the gradients to `into` (empty: stored there).
  void add_gradients(std::int64_t lane, const Work& work, std::vector<core::Array>& into);

  std::span<core::Array* const> arrays() const { return arrays_; }  ///< of the model, as parameters()

 private:
  GradientSum reduce(std::int64_t lanes, const Work& work);
  std::map<std::int64_t, Scalars> read_own_scalars(std::int64_t lanes, GradientSum& sum);
  std::vector<core::Number> numbers_of(std::int64_t lane, const std::function<LaneLoss()>& forward,
                                       const Differentiate& differentiate);

  std::shared_ptr<Communicator> workers_;
  std::vector<core::Array*> arrays_;
  std::vector<core::Parameter> parameters_;
  std::vector<ShardRanks> shard_ranks_;
  MetricNames metrics_;
  std::map<std::int64_t, std::vector<core::Number>> numbers_;  // of the lanes of a step: not yet read
  WholeArrays whole_arrays_;
};

/// By the tree of lane_tree.h: the bits depend on the number of lanes alone. Collective, as the others.
/// Unsupported, as by the fast one, for experts on workers of different lanes: the sharded one knows them.
std::unique_ptr<GradientReducer> make_tree_reducer(std::shared_ptr<Communicator> workers,
                                                   const std::vector<core::Parameter>& parameters);
/// By the transport's own all-reduce, a worker's lanes in a row: the bits depend on the number of workers.
std::unique_ptr<GradientReducer> make_fast_reducer(std::shared_ptr<Communicator> workers,
                                                   const std::vector<core::Parameter>& parameters);
/// By the tree, each worker its shards: every gradient leaves for its owners when the backward pass has it.
/// `store`, with the model's parameters adopted, is that of this thread and must outlive the reducer.
std::unique_ptr<GradientReducer> make_sharded_reducer(ShardedParameters& store);

}  // namespace bora::mesh
