// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The training loop. A model is a parameter walk and a loss function; nothing here knows its type.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/core/cast_once.h"
#include "bora/core/step_graph.h"
#include "bora/data/loader.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/nn/language_model_interface.h"
#include "bora/optim/optimizer.h"
#include "bora/optim/schedule.h"
#include "bora/optim/skip_step.h"
#include "bora/track/tracker.h"

namespace bora::train {

struct TrainerOptions {
  std::int64_t total_steps = 0;
  std::optional<std::int64_t> stop_at_step;  ///< stop there as an interrupt would
  std::int64_t lanes = 1;  ///< at most; a step uses the largest power of two that divides its batch
  std::uint64_t seed = 0;
  bool dropout = false;  ///< the model has dropout: give it keys
  bool fp8 = false;      ///< linear maps are multiplied in fp8, on a device in bf16 (core/fp8.h)
  /// Whether a loss or gradient norm that is not finite ends the run; else its step is skipped.
  bool crash_on_nan = true, crash_on_inf = true;
  /// On a device that has them: passes over lanes by graphs (core/step_graph.h), where a rank computes a lane alone and has
  /// whole parameters. The bits are the same.
  bool graphs = true;
  nn::LossOptions loss;
};

/// What one step did.
struct StepResult {
  std::int64_t step = 0;                    ///< from 0
  double loss = 0;                          ///< mean per weighted token, natural logarithm
  double weight = 0;                        ///< tokens that counted
  std::vector<track::Metric> metrics = {};  ///< the model's own, as means; those that counted somewhere
  bool empty = false;                       ///< none did: there is no loss, and nothing was changed
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
/// their sum, clip, skip test, optimizer, hooks.
///
/// On a device the host waits once in a step, for the loss, the metrics and the norm together, after all
/// gradients and before the optimizer; an optimizer that clips its updates waits for their norm too.
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
    /// Adds up the gradients of the workers that compute different lanes; the optimizer is that of its
    /// parameters. Null: one worker, by the tree.
    std::unique_ptr<mesh::GradientReducer> reducer = nullptr;
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
  /// What the optimizer changes, the trained parameters: shards where they are sharded.
  const std::vector<core::Parameter>& parameters() const { return reducer().parameters(); }
  optim::Optimizer& optimizer() { return parts_.optimizer; }

  /// What a checkpoint must hold beside arrays: step, keys, skip-step window, empty batches.
  Json save_state() const;
  /// Corruption, naming state.json and the key, for missing keys and values that cannot be.
  void load_state(const Json& state);

 private:
  mesh::GradientSum gradients(const data::Batch& batch);
  core::PassInputs lane_inputs(const data::Batch& batch, std::int64_t lane, std::int64_t each) const;
  mesh::LaneLoss lane_loss(const core::PassInputs& inputs) const;
  core::StepGraphs* graphs();
  std::vector<optim::Squares> squares_of(std::span<const core::Array> arrays,
                                         const std::vector<double>& sums) const;
  bool anyone_stops();
  mesh::GradientReducer& reducer() const { return *parts_.reducer; }
  mesh::Communicator& everyone() const { return parts_.world ? *parts_.world : reducer().workers(); }
  void change_parameters(const mesh::GradientSum& sum, StepResult& r);
  bool ends_the_run(double value) const;
  bool is_bad(const mesh::LaneSum& sum, const StepResult& r);
  [[noreturn]] void fail_not_finite(const mesh::LaneSum& sum, const StepResult& r) const;
  std::int64_t lanes_for(std::int64_t sequences) const;
  void keep_copies(std::optional<core::CastOnceScope>& once);

  Parts parts_;
  TrainerOptions options_;
  std::vector<std::int64_t> elements_;  // of each trained parameter, on all workers
  Key key_;
  std::int64_t step_ = 0, empty_batches_ = 0;
  core::KeptCopies copies_;  // of the parameters, on a device, in bf16
  std::unique_ptr<core::StepGraphs> graphs_;
  bool said_no_graphs_ = false;
};

}  // namespace bora::train
