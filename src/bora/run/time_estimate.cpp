// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/time_estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/runtime.h"
#include "bora/data/random_batch.h"
#include "bora/models/add_model.h"
#include "bora/optim/add_optimizer.h"
#include "bora/run/adapters.h"
#include "bora/run/machine.h"
#include "bora/run/peak_flops.h"
#include "bora/train/trainer.h"

namespace bora::run {
namespace {

constexpr double kTrial = 0.4;           // seconds of one timed step, about
constexpr double kLongest = 2;           // seconds of all timed steps, about
constexpr double kUsualShare = 0.4;      // of the rate of matrix products, in whole steps
constexpr double kPeakSeconds = 0.2;     // to measure that rate
constexpr std::int64_t kTimedSteps = 3;  // after one that makes what first steps make

// Of a step, to train on a token: two flops a parameter forward and four backward, and attention to a whole sequence.
double flops_per_token(const SizeEstimate& sizes, const nn::ModelShape& shape) {
  const auto attention = static_cast<double>(shape.layers * shape.heads * shape.head_dim * shape.seq_len);
  return 6 * static_cast<double>(sizes.parameters.all) + 12 * attention;
}

// Seconds of a step with so many sequences; without dropout, with which attention may take memory that nobody has
// counted.
double time_steps(const LmConfig& config, std::int64_t vocab, std::int64_t sequences) {
  const auto model = models::make_model(*config.model.config, vocab, Key::from_seed(0));
  choose_trained(*model, config);
  const auto optimizer =
      optim::make_optimizer(config.optimizer, core::trainable_parameters(model->parameters()));
  train::TrainerOptions options{.total_steps = config.trainer.num_train_steps, .lanes = 1, .dropout = false};
  options.loss = {.compute = config.trainer.mp.compute, .chunk = config.cross_entropy_chunk};
  const auto seq_len = config.model.config->seq_len();
  train::Trainer trainer(
      {*model,
       *optimizer,
       optim::Schedule(*config.optimizer.config, config.trainer.num_train_steps),
       std::nullopt,
       [&](std::int64_t step) { return data::random_batch(step, sequences, seq_len, vocab); },
       {},
       {}},
      options);
  const auto steps = std::min(kTimedSteps, config.trainer.num_train_steps - 1);
  const double first = trainer.step().seconds;
  double all = 0;
  std::int64_t done = 0;
  for (; done < steps && all + first < kLongest; ++done) all += trainer.step().seconds;
  return done < 1 ? first : all / static_cast<double>(done);
}

}  // namespace

std::optional<TimeEstimate> estimate_time(const LmConfig& config, const Preflight& found) {
  const auto& t = config.trainer;
  TimeEstimate out{.steps = t.num_train_steps - (found.resume ? found.resume->step : 0)};
  if (out.steps < 1 || found.device != core::Device() || config.model.config->shape(1).hears())
    return std::nullopt;
  core::initialize(static_cast<int>(t.threads));
  const double peak = measure_peak_flops(t.mp.compute, kPeakSeconds);
  const auto seq_len = config.model.config->seq_len();
  const double of_sequence = flops_per_token(found.sizes, config.model.config->shape(found.tokenizer.vocab)) *
                             static_cast<double>(seq_len) / (kUsualShare * peak);
  const auto schedule = t.batch_schedule();
  const auto first = t.num_train_steps - out.steps;
  const auto sequences = static_cast<double>(schedule.offset(t.num_train_steps) - schedule.offset(first));
  out.seconds = of_sequence * sequences;
  if (of_sequence > kTrial || found.sizes.training() > free_memory() / 2) return out;
  const auto trial = std::clamp<std::int64_t>(static_cast<std::int64_t>(kTrial / of_sequence), 1,
                                              std::min<std::int64_t>(found.sizes.lane_sequences, 64));
  out.is_timed = true;
  out.seconds = time_steps(config, found.tokenizer.vocab, trial) / static_cast<double>(trial) * sequences;
  return out;
}

std::string shown(const TimeEstimate& estimate) {
  return fmt::format("about {} for the {} step{} left, an estimate {}", human_duration(estimate.seconds),
                     with_commas(estimate.steps), estimate.steps == 1 ? "" : "s",
                     estimate.is_timed ? "by steps timed on this machine"
                                       : "by the rate of matrix products on this machine");
}

}  // namespace bora::run
