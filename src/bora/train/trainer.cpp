// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/optim/clip.h"
#include "bora/train/first_non_finite.h"
#include "bora/train/lanes.h"

namespace bora::train {

namespace {

std::vector<core::Array*> arrays_of(const std::vector<core::ParamRef>& parameters) {
  std::vector<core::Array*> out;
  for (const auto& p : parameters) out.push_back(p.array);
  return out;
}

}  // namespace

Trainer::Trainer(Parts parts, TrainerOptions options)
    : parts_(std::move(parts)),
      options_(options),
      parameters_(parts_.sharded ? parts_.sharded->shards() : parts_.model.parameters()),
      arrays_(arrays_of(parts_.model.parameters())),
      key_(Key::from_seed(options.seed).fold("train")) {
  find_holders();
  if (parts_.sharded && options_.fast_reduction)
    fail(ErrorKind::Config,
         "trainer.reduction: fast adds up whole gradients, but parameters are sharded over {} workers\n"
         "hint: trainer.fsdp_axis: null, or trainer.reduction: fixed",
         parts_.workers->size());
  if (options_.fast_reduction)
    fast_reducer_.emplace(*parts_.workers, arrays_);
  else if (!parts_.sharded)
    reducer_.emplace(*parts_.workers, arrays_);
}

// Who has the other blocks of the parameters: FSDP's workers, and those of each mesh axis.
void Trainer::find_holders() {
  if (parts_.sharded) holders_.push_back(parts_.sharded->holders());
  const auto* mapping = core::mapping();
  for (std::size_t m = 0; mapping != nullptr && m < mapping->size(); ++m) {
    mesh::BlockHolders axis{&mapping->workers(m), {}};
    for (const auto* a : arrays_) axis.cut.push_back(core::cuts_of(*a)[m] >= 0);
    if (std::find(axis.cut.begin(), axis.cut.end(), true) != axis.cut.end())
      holders_.push_back(std::move(axis));
  }
  for (const auto* a : arrays_) {
    const auto sizes = core::whole_sizes(*a);
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
  r.empty = r.weight <= 0;
  if (r.empty)
    ++empty_batches_;
  else
    change_parameters(sum, r);
  ++step_;
  r.seconds = monotonic_seconds() - started;
  return r;
}

void Trainer::change_parameters(const mesh::LaneSum& sum, StepResult& r) {
  r.loss = sum.scalars[0] / r.weight;
  optim::StepInfo info{.step = step_, .learning_rate = r.learning_rate, .gradient_scale = 1 / r.weight};
  info.squares = [this](std::span<const core::Array> arrays) { return squares_of(arrays); };
  trace::Span norm("gradient norm");
  info.gradient_norm = r.gradient_norm = optim::global_norm(squares_of(sum.arrays)) / r.weight;
  norm.end();
  r.skipped = is_bad(sum, r);
  if (r.skipped) return;
  const trace::Span span("optimizer");
  auto report = parts_.optimizer.step(parameters_, sum.arrays, info);
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

mesh::LaneSum Trainer::gradients(const data::Batch& batch) {
  auto sum = lane_gradients(batch);
  if (core::mapping() == nullptr) return sum;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!sum.arrays[i].empty()) core::sum_pending(*arrays_[i], parameters_[i].path, sum.arrays[i]);
  }
  return sum;
}

// A lane is a fixed slice of the batch, computed alone with its own key, by whichever worker; lanes are
// summed by one fixed tree.
mesh::LaneSum Trainer::lane_gradients(const data::Batch& batch) {
  auto lanes = lanes_for(batch.sequences);
  auto& workers = *parts_.workers;
  if (workers.size() > 1) workers.activity(fmt::format("step {}: gradients", step_));
  if (parts_.sharded) return sharded_gradients(batch, lanes);
  return fast_reducer_ ? fast_gradients(batch, lanes) : tree_gradients(batch, lanes);
}

mesh::LaneSum Trainer::tree_gradients(const data::Batch& batch, std::int64_t lanes) {
  const auto own = mesh::owned_lanes(parts_.workers->rank(), parts_.workers->size(), lanes);
  mesh::LaneTree tree(lanes, arrays_.size());
  for (std::int64_t lane = own.first; lane < own.first + own.lanes; ++lane)
    tree.finish(lane, add_gradients(batch, lane, batch.sequences / lanes, tree.buffer_for(lane)));
  return reducer_->reduce(tree);
}

mesh::LaneSum Trainer::fast_gradients(const data::Batch& batch, std::int64_t lanes) {
  const auto own = mesh::owned_lanes(parts_.workers->rank(), parts_.workers->size(), lanes);
  for (std::int64_t lane = own.first; lane < own.first + own.lanes; ++lane)
    fast_reducer_->finish(add_gradients(batch, lane, batch.sequences / lanes, fast_reducer_->buffer()));
  return fast_reducer_->reduce(lanes);
}

std::array<double, 2> Trainer::add_gradients(const data::Batch& batch, std::int64_t lane, std::int64_t each,
                                             std::vector<core::Array>& into) {
  double weight = 0;
  std::optional<trace::Span> backward;
  const auto loss = core::accumulate_gradients(
      arrays_,
      [&] {
        auto forward = lane_loss(batch, lane, each, weight);
        backward.emplace("backward", "lane", lane);
        return forward;
      },
      into);
  return {loss.item(), weight};
}

// All workers compute at the same time: each parameter's gradient leaves for its owners when it is there.
mesh::LaneSum Trainer::sharded_gradients(const data::Batch& batch, std::int64_t lanes) {
  mesh::ShardedGradients sum(*parts_.sharded, lanes);
  for (std::int64_t round = 0; round < sum.rounds(); ++round) {
    double weight = 0;
    std::optional<trace::Span> backward;
    auto loss = core::stream_gradients(
        arrays_,
        [&] {
          auto forward = lane_loss(batch, sum.lane(round), batch.sequences / lanes, weight);
          backward.emplace("backward", "lane", sum.lane(round));
          return forward;
        },
        [&](std::size_t i, const core::Array& gradient) { sum.add(round, i, gradient); });
    backward.reset();
    sum.finish(round, std::vector<double>{loss.item(), weight});
  }
  parts_.sharded->release();  // the optimizer changes the blocks
  return sum.take_total();
}

core::Array Trainer::lane_loss(const data::Batch& batch, std::int64_t lane, std::int64_t each,
                               double& weight) const {
  const trace::Span span("forward", "lane", lane);
  std::optional<Key> key;
  if (options_.dropout)
    key = key_.fold(static_cast<std::uint64_t>(step_)).fold(static_cast<std::uint64_t>(lane));
  auto result = parts_.model.loss(token_batch(batch, lane * each, each), key, options_.loss);
  weight = result.weight.item();
  return result.loss;
}

std::vector<optim::Squares> Trainer::squares_of(std::span<const core::Array> arrays) const {
  if (holders_.empty()) return optim::sums_of_squares(arrays);
  const auto sums = mesh::sums_of_squares(arrays, holders_);
  std::vector<optim::Squares> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out.push_back({sums[i], arrays[i].empty() ? 0 : elements_[i]});
  return out;
}

bool Trainer::computes(std::int64_t row, std::int64_t batch_size) const {
  const auto lanes = lanes_for(batch_size), lane = row / (batch_size / lanes);
  const int rank = parts_.workers->rank(), workers = parts_.workers->size();
  if (parts_.sharded) return lane % workers == rank || (rank >= lanes && lane == lanes - 1);
  const auto own = mesh::owned_lanes(rank, workers, lanes);
  return lane >= own.first && lane < own.first + own.lanes;
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
  if (const auto bad = first_non_finite(parameters_, everyone())) {
    fail(ErrorKind::NonFinite,
         "{}; the first bad tensor is the parameter {}\n"
         "hint: start from weights of before: an earlier checkpoint, or trainer.initialize_from",
         what, *bad);
  }
  const auto bad = first_non_finite(parameters_, sum.arrays, everyone());
  fail(ErrorKind::NonFinite,
       "{}; the parameters are finite, {}; nothing was changed\n"
       "hint: a lower optimizer.learning_rate; trainer.crash_on_{}: false goes on without such steps",
       what, bad ? "the first bad gradient is that of " + *bad : "and so is every gradient",
       std::isnan(value) ? "nan" : "inf");
}

void Trainer::require_finite_parameters() const {
  const auto bad = first_non_finite(parameters_, everyone());
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
