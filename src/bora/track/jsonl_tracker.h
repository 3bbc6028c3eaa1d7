// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "bora/base/clock.h"
#include "bora/track/json_lines.h"
#include "bora/track/tracker.h"

namespace bora::track {

struct JsonlOptions {
  std::string directory;        ///< the run's; made if missing
  std::int64_t first_step = 0;  ///< the first step that will be logged: 0, or where a run resumes
  bool ends_again = false;      ///< the line of the step before stays; what the end wrote behind it goes
  std::function<double()> wall_clock = wall_seconds;  ///< seconds since the epoch
};

/// The tracker that is always there. Files in the run directory (grammar in jsonl_tracker.cpp):
///   metrics.jsonl          what data, seed and configuration determine: two identical runs give identical
///   bytes timing.jsonl           speeds, times, memory text.jsonl             samples and other texts
///   summary.json, hyperparameters.json
/// Every line is on its way to the disk when log() returns; a killed process leaves whole lines.
class JsonlTracker final : public Tracker {
 public:
  explicit JsonlTracker(JsonlOptions options);

  std::string_view name() const override { return "jsonl"; }
  void log(std::int64_t step, std::span<const Metric> metrics) override;
  void log_text(std::int64_t step, std::string_view name, std::string_view text) override;
  void log_histogram(std::int64_t step, std::string_view name, const Histogram& histogram) override;
  void log_summary(std::span<const Metric> metrics) override;
  void log_hyperparameters(const Json& values) override;
  void flush() override;
  void finish() override;

 private:
  /// Of the step before the first one, where training wrote so many and the end the rest.
  std::int64_t lines_before(std::int64_t of_training) const;

  JsonlOptions options_;
  JsonLines metrics_, timing_, text_;
  std::map<std::string, double> summary_;
};

}  // namespace bora::track
