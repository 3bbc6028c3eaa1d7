// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"

namespace bora::track {

/// One number with its name. Names are Levanter's: train/loss, optim/learning_rate,
/// throughput/tokens_per_second, eval/loss, grad/norm/total, ...
struct Metric {
  std::string name;
  double value = 0;
  bool operator==(const Metric&) const = default;
};

/// Counts of values by interval. Interval i ends at limits[i] and starts at limits[i - 1] (the first at
/// `min`).
struct Histogram {
  double min = 0, max = 0;
  double count = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits;  ///< right ends, increasing
  std::vector<double> counts;  ///< as many as limits
};

/// True for metrics that depend on data, seed and configuration alone, so that two runs of the same
/// configuration give the same bits; false for speeds, times, memory and machine facts: throughput/, timing/,
/// memory/, system/, hardware/, and whatever ends in time, duration or seconds (eval/loading_time).
bool is_deterministic_metric(std::string_view name);

/// A place where the numbers of a run go. `step` counts training steps from 0. One thread at a time.
///
/// Trackers may throw bora::Error; a CompositeTracker stands between them and the training.
class Tracker {
 public:
  virtual ~Tracker() = default;
  virtual std::string_view name() const = 0;
  virtual void log(std::int64_t step, std::span<const Metric> metrics) = 0;
  /// A sample, a table: text that belongs to a step.
  virtual void log_text(std::int64_t /*step*/, std::string_view /*name*/, std::string_view /*text*/) {}
  virtual void log_histogram(std::int64_t /*step*/, std::string_view /*name*/,
                             const Histogram& /*histogram*/) {}
  /// Final numbers of the run; a later value of a name replaces an earlier one.
  virtual void log_summary(std::span<const Metric> /*metrics*/) {}
  /// The resolved configuration, once at the start.
  virtual void log_hyperparameters(const Json& /*values*/) {}
  /// Everything logged is on its way to the disk after this.
  virtual void flush() {}
  /// The run is over; nothing may be logged afterwards.
  virtual void finish() {}
};

/// Gives everything to each of several trackers. A tracker that fails must never stop a training that runs
/// for days: its first failure is a warning, the later ones are silent, and it is asked again at the next
/// call. What may be secret in URLs of texts and of the configuration is left out (base/secrets.h).
class CompositeTracker final : public Tracker {
 public:
  using Trackers = std::vector<std::unique_ptr<Tracker>>;
  explicit CompositeTracker(Trackers trackers);

  std::string_view name() const override { return "composite"; }
  void log(std::int64_t step, std::span<const Metric> metrics) override;
  void log_text(std::int64_t step, std::string_view name, std::string_view text) override;
  void log_histogram(std::int64_t step, std::string_view name, const Histogram& histogram) override;
  void log_summary(std::span<const Metric> metrics) override;
  void log_hyperparameters(const Json& values) override;
  void flush() override;
  void finish() override;

  /// Calls that failed so far, over all trackers.
  std::int64_t failures() const { return failures_; }

 private:
  struct Entry {
    std::unique_ptr<Tracker> tracker;
    bool warned = false;
  };
  void each(const std::function<void(Tracker&)>& call);

  std::vector<Entry> entries_;
  std::int64_t failures_ = 0;
};

}  // namespace bora::track
