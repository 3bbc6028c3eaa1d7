// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/optim/config.h"

namespace bora::optim {

/// Shapes that lr_schedule accepts, sorted.
const std::vector<std::string>& decay_shapes();

/// Lengths: from 0 to 1 a fraction (1 is all of it), above 1 a whole number of steps.
bool is_length(double value);
std::string length_problem(double value);  ///< why it is none
/// Steps of `value` out of `whole`: fractions are rounded down. Config error if it is no length.
std::int64_t length_in_steps(double value, std::int64_t whole);

/// What is wrong with a schedule of that many steps: message and key. Empty: nothing.
struct ScheduleProblem {
  std::string key;      ///< "cycles"
  std::string message;  ///< "a cycle begins at step 700, but there are 500 steps"
};
std::vector<ScheduleProblem> schedule_problems(const OptimizerConfig& config, std::int64_t total_steps);
/// Where that finds nothing: rises and decays that do not fit their cycle, alone or together, each key once. A rise is
/// cut where its cycle ends, as in Levanter; a decay has what the rise leaves.
std::vector<ScheduleProblem> schedule_warnings(const OptimizerConfig& config, std::int64_t total_steps);

/// The learning rate of each step; a pure function. Semantics of Levanter: the steps are cut into cycles;
/// each rises linearly from the value before it (first: from 0, over `warmup`; later: over `rewarmup`) to the
/// peak, stays there, and decays over its last `decay` steps. Step s gets the value that belongs to s updates
/// before it; after the last step the last value holds.
class Schedule {
 public:
  /// Config error, naming the key, for what schedule_problems finds.
  Schedule(const OptimizerConfig& config, std::int64_t total_steps);

  double operator()(std::int64_t step) const;
  double peak() const { return peak_; }
  /// First steps of the cycles, and the total.
  const std::vector<std::int64_t>& boundaries() const { return boundaries_; }

 private:
  struct Phase {
    std::int64_t begin;
    std::function<double(std::int64_t)> value;  // of the step since begin
  };
  double add_cycle(const OptimizerConfig& config, std::size_t index, double before);

  double peak_;
  std::vector<std::int64_t> boundaries_;
  std::vector<Phase> phases_;  // by begin; the first begins at 0
};

/// mesh-transformer-jax's schedule: linear to `peak` over `warmup` steps, cosine to `end` over the next
/// `anneal`.
double gpt3_schedule(std::int64_t step, std::int64_t warmup, std::int64_t anneal, double peak, double end);

}  // namespace bora::optim
