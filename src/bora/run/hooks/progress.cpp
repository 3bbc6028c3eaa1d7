// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/progress.h"

#include <sys/resource.h>

#include <bit>

#include "bora/base/clock.h"
#include "bora/base/log.h"
#include "bora/core/device_kernels.h"

namespace bora::run {

namespace {

double peak_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

void Progress::after_step(const train::StepResult& result) {
  if (first_step_seconds_ == 0) first_step_seconds_ = seconds_since_start();
  loading_ += result.loading_seconds;
  stepping_ += result.seconds;
  tokens_ += result.tokens;
  session_.meter().step(result.tokens, result.examples, result.seconds);
  log(result);
  session_.growing().look();
  show(result);
}

RunTimes Progress::times() const {
  return {.first_step_seconds = first_step_seconds_,
          .waited_seconds = loading_ + session_.waited(),
          .trained_seconds = stepping_ + session_.waited(),
          .tokens = tokens_,
          .meter = session_.meter()};
}

void Progress::log(const train::StepResult& r) {
  std::vector<track::Metric> metrics;
  if (!r.empty) metrics.push_back({"train/loss", r.loss});
  metrics.push_back({"train/tokens", r.weight});
  for (const auto& m : r.metrics) metrics.push_back({"train/" + m.name, m.value});
  metrics.push_back({"optim/learning_rate", r.learning_rate});
  if (!r.empty) {
    metrics.push_back({"optim/gradient_norm", r.gradient_norm});
    metrics.push_back({"optim/clip_factor", r.clip_factor});
  }
  if (const auto n = session_.trainer().empty_batches(); n > 0)
    metrics.push_back({"train/empty_batches", static_cast<double>(n)});
  if (session_.config().optimizer->skip_bad_steps || r.skipped)
    metrics.push_back({"optim/skipped_step", r.skipped ? 1.0 : 0.0});
  if (r.update_norm) metrics.push_back({"optim/update_norm", *r.update_norm});
  for (auto& m : session_.meter().metrics()) metrics.push_back(m);
  metrics.push_back({"throughput/loading_time", r.loading_seconds});
  metrics.push_back({"memory/peak_mb", peak_memory_mb()});
  if (const auto device = core::default_device(); device != core::Device())
    metrics.push_back(
        {"memory/device_peak_mb", static_cast<double>(core::device_memory(device).peak) / (1 << 20)});
  session_.tracker().log(r.step, metrics);
}

void Progress::show(const train::StepResult& r) {
  if (r.empty) tell_of_empty_batch(r.step);
  const auto done = r.step + 1, total = session_.config().trainer.num_train_steps;
  const auto& meter = session_.meter();
  const auto loss = r.empty ? std::nullopt : std::optional(r.loss);
  session_.console().step({done, total, loss, meter.tokens_per_second(), r.learning_rate,
                           meter.eta(total - done), std::nullopt, session_.growing().note()});
}

// One at first, then ever more seldom.
void Progress::tell_of_empty_batch(std::int64_t step) const {
  const auto n = static_cast<std::uint64_t>(session_.trainer().empty_batches());
  if (!session_.is_first() || !std::has_single_bit(n)) return;
  log_warning("step {}: no token of the batch counts (all loss weights are 0); skipped, as {} batch{} so far",
              step, n, n == 1 ? "" : "es");
}

}  // namespace bora::run
