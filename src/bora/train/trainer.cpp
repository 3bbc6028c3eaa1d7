// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/trainer.h"

#include <cmath>
#include <numeric>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/base/trace.h"
#include "bora/core/cast_once.h"
#include "bora/core/device.h"
#include "bora/core/fp8.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/core/parameter_store.h"
#include "bora/optim/clip.h"
#include "bora/train/first_non_finite.h"
#include "bora/train/lanes.h"

namespace bora::train {

Trainer::Trainer(Parts parts, TrainerOptions options)
    : parts_(std::move(parts)), options_(options), key_(Key::from_seed(options.seed).fold("train")) {
  const auto model = parts_.model.parameters();
  if (!parts_.reducer) parts_.reducer = mesh::make_tree_reducer(mesh::make_self_communicator(), model);
  for (const auto& p : core::trainable_parameters(model)) {
    const auto sizes = core::whole_sizes(*p.array);
    elements_.push_back(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
  }
}

Outcome Trainer::run() {
  while (step_ < options_.total_steps) {
    if (anyone_stops()) return Outcome::stopped;
    auto result = step();
    const trace::Span span("hooks");
    for (auto& hook : parts_.hooks) hook(result);
  }
  return Outcome::finished;
}

bool Trainer::anyone_stops() {
  auto& workers = everyone();
  const bool here = (options_.stop_at_step && step_ >= *options_.stop_at_step) ||
                    (parts_.should_stop && parts_.should_stop());
  if (workers.size() == 1) return here;
  workers.activity(fmt::format("step {}: going on or not", step_));
  return mesh::any_of_all(workers, here);
}

StepResult Trainer::step() {
  StepResult r{.step = step_, .learning_rate = parts_.schedule(step_)};
  const trace::Span whole("step", "step", step_);
  double started = monotonic_seconds();
  trace::Span waiting("batch wait");
  auto batch = parts_.batch_of(step_);
  waiting.end();
  r.loading_seconds = monotonic_seconds() - started;
  r.examples = batch.sequences;
  r.tokens = batch.sequences * batch.seq_len;

  const auto sum = gradients(batch);
  r.weight = sum.scalars[1];
  for (auto& m : reducer().metrics_of(sum))
    if (m.weight != 0) r.metrics.push_back({std::move(m.name), m.mean()});
  r.empty = r.weight <= 0;
  if (r.empty)
    ++empty_batches_;
  else
    change_parameters(sum, r);
  ++step_;
  r.seconds = monotonic_seconds() - started;
  return r;
}

void Trainer::change_parameters(const mesh::GradientSum& sum, StepResult& r) {
  r.loss = sum.scalars[0] / r.weight;
  optim::StepInfo info{.step = step_, .learning_rate = r.learning_rate, .gradient_scale = 1 / r.weight};
  info.squares = [this](std::span<const core::Array> arrays) {
    return squares_of(arrays, mesh::sums_of_squares(arrays, reducer().shard_ranks()));
  };
  info.whole_arrays = &reducer().whole_arrays();
  info.key = key_.fold("optimizer");
  info.gradient_norm = r.gradient_norm = optim::global_norm(squares_of(sum.arrays, sum.squares)) / r.weight;
  r.skipped = is_bad(sum, r);
  if (r.skipped) return;
  const trace::Span span("optimizer");
  std::optional<core::CastOnceScope> once;  // AdamW writes the copies too
  keep_copies(once);
  auto report = parts_.optimizer.step(parameters(), sum.arrays, info);
  r.clip_factor = report.clip_factor;
  r.update_norm = report.update_norm;
}

bool Trainer::ends_the_run(double value) const {
  return (std::isnan(value) && options_.crash_on_nan) || (std::isinf(value) && options_.crash_on_inf);
}

// All workers have the same loss and norm, and decide alike.
bool Trainer::is_bad(const mesh::LaneSum& sum, const StepResult& r) {
  if (ends_the_run(r.loss)) fail_not_finite(sum, r);
  if (parts_.skip_step && parts_.skip_step->should_skip(r.loss, r.gradient_norm)) return true;
  if (!parts_.skip_step && ends_the_run(r.gradient_norm)) fail_not_finite(sum, r);
  return !std::isfinite(r.loss) || !std::isfinite(r.gradient_norm);
}

// Sharded parameters come and go, and so must their copies.
void Trainer::keep_copies(std::optional<core::CastOnceScope>& once) {
  if (options_.loss.compute != core::DType::f32 && core::parameter_store() == nullptr)
    once.emplace(parts_.model.parameters(), copies_);
}

// A lane is a fixed slice of the batch, computed alone with its own key, by whichever worker owns it.
mesh::GradientSum Trainer::gradients(const data::Batch& batch) {
  const auto lanes = lanes_for(batch.sequences), each = batch.sequences / lanes;
  auto& workers = reducer().workers();
  if (workers.size() > 1) workers.activity(fmt::format("step {}: gradients", step_));
  std::optional<core::CastOnceScope> once;
  keep_copies(once);
  const core::Fp8Scope fp8(options_.fp8);
  const mesh::LanePass pass{
      .inputs = [&](std::int64_t lane) { return lane_inputs(batch, lane, each); },
      .loss = [&](const core::PassInputs& inputs) { return lane_loss(inputs); },
  };
  return reducer().reduce(lanes, pass, graphs());
}

// Null where there are none.
core::StepGraphs* Trainer::graphs() {
  if (!options_.graphs || !core::has_graphs(core::default_device())) return nullptr;
  std::string_view why_not;
  if (core::mapping() != nullptr)
    why_not = "ranks that share a lane meet within it (trainer.mesh)";
  else if (core::parameter_store() != nullptr)
    why_not = "parameters are in shards (trainer.fsdp_axis: null has them whole)";
  else if (options_.loss.compute == core::DType::f16)
    why_not = "fp16 makes copies of parameters in each step (trainer.mp: bf16 has them kept)";
  if (!why_not.empty()) {
    if (!said_no_graphs_ && everyone().rank() == 0)
      log_info("no graph of a pass, whose operations go to {} one by one: {}",
               core::name(core::default_device()), why_not);
    said_no_graphs_ = true;
    return nullptr;
  }
  if (graphs_ == nullptr) graphs_ = std::make_unique<core::StepGraphs>(parts_.model.parameters());
  return graphs_.get();
}

core::PassInputs Trainer::lane_inputs(const data::Batch& batch, std::int64_t lane, std::int64_t each) const {
  auto inputs = pass_inputs(token_batch(batch, lane * each, each));
  if (options_.dropout)
    inputs.key = key_.fold(static_cast<std::uint64_t>(step_)).fold(static_cast<std::uint64_t>(lane));
  return inputs;
}

mesh::LaneLoss Trainer::lane_loss(const core::PassInputs& inputs) const {
  auto result = parts_.model.objective(token_batch(inputs), inputs.key, options_.loss);
  return {std::move(result.loss), result.weight, lane_metrics(result.metrics)};
}

std::vector<optim::Squares> Trainer::squares_of(std::span<const core::Array> arrays,
                                                const std::vector<double>& sums) const {
  std::vector<optim::Squares> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out.push_back({sums[i], arrays[i].empty() ? 0 : elements_[i]});
  return out;
}

bool Trainer::computes(std::int64_t row, std::int64_t batch_size) const {
  const auto lanes = lanes_for(batch_size);
  return reducer().owns(row / (batch_size / lanes), lanes);
}

std::int64_t Trainer::lanes_for(std::int64_t sequences) const {
  auto lanes = options_.lanes;
  while (lanes > 1 && sequences % lanes != 0) lanes /= 2;
  return lanes;
}

void Trainer::fail_not_finite(const mesh::LaneSum& sum, const StepResult& r) const {
  const bool of_loss = ends_the_run(r.loss);
  const double bare = of_loss ? r.loss : r.gradient_norm;
  const double value = std::isnan(bare) ? std::abs(bare) : bare;  // the sign of NaN says nothing
  const auto what = fmt::format("step {}: the {} is {}", step_, of_loss ? "loss" : "gradient norm", value);
  if (const auto bad = first_non_finite(parameters(), everyone())) {
    fail(ErrorKind::NonFinite,
         "{}; the first bad tensor is the parameter {}\n"
         "hint: start from weights of before: an earlier checkpoint, or trainer.initialize_from",
         what, *bad);
  }
  const auto bad = first_non_finite(parameters(), sum.arrays, everyone());
  fail(ErrorKind::NonFinite,
       "{}; the parameters are finite, {}; nothing was changed\n"
       "hint: a lower optimizer.learning_rate; trainer.crash_on_{}: false goes on without such steps",
       what, bad ? "the first bad gradient is that of " + *bad : "and so is every gradient",
       std::isnan(value) ? "nan" : "inf");
}

void Trainer::require_finite_parameters() const {
  const auto bad = first_non_finite(parameters(), everyone());
  if (!bad) return;
  fail(ErrorKind::NonFinite,
       "after step {}: the first tensor that is not finite is the parameter {}; it is not saved\n"
       "hint: a lower optimizer.learning_rate; the checkpoints are from before",
       step_, *bad);
}

Json Trainer::save_state() const {
  Json state;
  state["step"] = step_;
  state["seed"] = options_.seed;
  state["optimizer"] = parts_.optimizer.save_state();
  if (parts_.skip_step) state["skip_step"] = parts_.skip_step->save_state();
  if (empty_batches_ > 0) state["empty_batches"] = empty_batches_;
  return state;
}

void Trainer::load_state(const Json& state) {
  step_ = json_get<std::int64_t>(state, "step", "state.json");
  if (step_ < 0) fail(ErrorKind::Corruption, "state.json: step is {}; it must not be negative", step_);
  empty_batches_ = json_get<std::int64_t>(state, "empty_batches", "state.json", 0);
  if (empty_batches_ < 0 || empty_batches_ > step_) {
    fail(ErrorKind::Corruption, "state.json: empty_batches is {}; it must be from 0 to the step, {}",
         empty_batches_, step_);
  }
  in_context("state.json", [&] {
    parts_.optimizer.load_state(state.value("optimizer", Json()), step_);
    if (parts_.skip_step) parts_.skip_step->load_state(state.value("skip_step", Json()), step_);
  });
}

}  // namespace bora::train
