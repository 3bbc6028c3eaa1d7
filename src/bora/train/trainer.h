// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The training loop. A model is a parameter walk and a loss function; nothing here knows its type.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/data/loader.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/fast_reduce.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/mesh/tree_reduce.h"
#include "bora/nn/language_model.h"
#include "bora/optim/optimizer.h"
#include "bora/optim/schedule.h"
#include "bora/optim/skip_step.h"

namespace bora::train {

struct TrainerOptions {
  std::int64_t total_steps = 0;
  std::optional<std::int64_t> stop_at_step;  ///< stop there as an interrupt would
  std::int64_t lanes = 1;  ///< at most; a step uses the largest power of two that divides its batch
  std::uint64_t seed = 0;
  bool dropout = false;  ///< the model has dropout: give it keys
  bool fast_reduction =
      false;  ///< by the transport's own all-reduce, instead of the tree; needs whole parameters
  /// Whether a loss or gradient norm that is not finite ends the run; else its step is skipped.
  bool crash_on_nan = true, crash_on_inf = true;
  nn::LossOptions loss;
};

/// What one step did.
struct StepResult {
  std::int64_t step = 0;  ///< from 0
  double loss = 0;        ///< mean per weighted token, natural logarithm
  double weight = 0;      ///< tokens that counted
  bool empty = false;     ///< none did: there is no loss, and nothing was changed
  std::int64_t tokens = 0, examples = 0;
  double learning_rate = 0;
  double gradient_norm = 0, clip_factor = 1;
  std::optional<double> update_norm;
  bool skipped = false;        ///< parameters and optimizer are as before: a bad step
  double seconds = 0;          ///< of the whole step
  double loading_seconds = 0;  ///< of it, waiting for the batch
};

enum class Outcome { finished, stopped };

/// Trains from the present step on, alone or as one of several workers, who each compute some of a step's
/// lanes and all hold the same parameters, bit for bit. Order of one step: batch, lanes forward and backward,
/// tree, clip, skip test, optimizer, hooks.
///
/// A batch in which no token counts is skipped and counted. A loss or gradient norm that is not finite never
/// reaches the optimizer: NonFinite, or a skipped step where options or skip_step say so.
class Trainer {
 public:
  /// `batch_of` is a pure function of the step. Hooks run after each step, in order; `should_stop` is asked
  /// at each boundary,
  /// of every worker: one that stops stops all. With several workers all calls are collective.
  struct Parts {
    nn::LanguageModel& model;
    optim::Optimizer& optimizer;
    optim::Schedule schedule;
    std::optional<optim::SkipStep> skip_step;
    std::function<data::Batch(std::int64_t)> batch_of;
    std::function<bool()> should_stop;
    std::vector<std::function<void(const StepResult&)>> hooks;
    /// Those that compute different lanes.
    std::shared_ptr<mesh::Communicator> workers = mesh::make_self_communicator();
    /// Where parameters lie in blocks on the workers: the store that keeps this thread's, with the model's
    /// adopted; the optimizer is that of its shards. Null: whole on each.
    mesh::ShardedParameters* sharded = nullptr;
    /// All workers of the run, where several share a lane; the run's mapping is this thread's. Null: each
    /// lane is one worker's.
    std::shared_ptr<mesh::Communicator> world = nullptr;
  };

  Trainer(Parts parts, TrainerOptions options);

  Outcome run();
  /// One step without hooks; run() is made of these.
  StepResult step();

  std::int64_t next_step() const { return step_; }
  std::int64_t empty_batches() const { return empty_batches_; }  ///< so far: skipped, no token counted
  /// NonFinite, on all workers, that names the first parameter of which a value is not finite on any of them
  /// (collective): before the parameters are saved.
  void require_finite_parameters() const;
  /// Whether this worker's lanes have a row of a batch of so many. Any thread may ask.
  bool computes(std::int64_t row, std::int64_t batch_size) const;
  const std::vector<core::ParamRef>& parameters() const { return parameters_; }
  optim::Optimizer& optimizer() { return parts_.optimizer; }

  /// What a checkpoint must hold beside arrays: step, keys, skip-step window, empty batches.
  Json save_state() const;
  /// Corruption, naming state.json and the key, for missing keys and values that cannot be.
  void load_state(const Json& state);

 private:
  void find_holders();
  mesh::LaneSum gradients(const data::Batch& batch);
  mesh::LaneSum lane_gradients(const data::Batch& batch);
  mesh::LaneSum tree_gradients(const data::Batch& batch, std::int64_t lanes);
  mesh::LaneSum fast_gradients(const data::Batch& batch, std::int64_t lanes);
  /// Adds the gradients of a lane to `into`; returns its loss and weight.
  std::array<double, 2> add_gradients(const data::Batch& batch, std::int64_t lane, std::int64_t each,
                                      std::vector<core::Array>& into);
  mesh::LaneSum sharded_gradients(const data::Batch& batch, std::int64_t lanes);
  std::vector<optim::Squares> squares_of(std::span<const core::Array> arrays) const;
  /// Loss of a lane, and its weight.
  core::Array lane_loss(const data::Batch& batch, std::int64_t lane, std::int64_t each, double& weight) const;
  bool anyone_stops();
  mesh::Communicator& everyone() const { return parts_.world ? *parts_.world : *parts_.workers; }
  void change_parameters(const mesh::LaneSum& sum, StepResult& r);
  bool ends_the_run(double value) const;
  bool is_bad(const mesh::LaneSum& sum, const StepResult& r);
  [[noreturn]] void fail_not_finite(const mesh::LaneSum& sum, const StepResult& r) const;
  std::int64_t lanes_for(std::int64_t sequences) const;

  Parts parts_;
  TrainerOptions options_;
  std::vector<core::ParamRef> parameters_;    // of the optimizer: blocks where they are sharded
  std::vector<core::Array*> arrays_;          // of the model
  std::vector<mesh::BlockHolders> holders_;   // where parameters lie in blocks
  std::vector<std::int64_t> elements_;        // of each parameter, on all workers
  std::optional<mesh::TreeReducer> reducer_;  // unless sharded or fast
  std::optional<mesh::FastReducer> fast_reducer_;
  Key key_;
  std::int64_t step_ = 0, empty_batches_ = 0;
};

}  // namespace bora::train
