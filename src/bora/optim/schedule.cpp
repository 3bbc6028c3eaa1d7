// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bora/base/error.h"

namespace bora::optim {
namespace {

using Curve = std::function<double(std::int64_t)>;

struct Stretch {
  double peak, floor, ratio;
  std::int64_t warmup, length;
};

double progress(std::int64_t t, std::int64_t length) {
  return length == 0
             ? 1.0
             : static_cast<double>(std::clamp<std::int64_t>(t, 0, length)) / static_cast<double>(length);
}

Curve line(double from, double to, std::int64_t length) {
  return [=](std::int64_t t) { return t >= length ? to : from + (to - from) * progress(t, length); };
}

Curve cosine(const Stretch& s, double exponent) {
  return [=](std::int64_t t) {
    const double wave = 0.5 * (1 + std::cos(std::numbers::pi * progress(t, s.length)));
    return s.peak * ((1 - s.ratio) * std::pow(wave, exponent) + s.ratio);
  };
}

Curve inverse_sqrt(const Stretch& s, double timescale) {
  return [=](std::int64_t t) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(t + s.warmup, 1));
    return std::max(s.floor, s.peak * std::min(1.0, 1 / std::sqrt(steps / timescale)));
  };
}

Curve inverse(const Stretch& s) {
  return [=](std::int64_t t) {
    const double at = static_cast<double>(std::max<std::int64_t>(t, 1)) /
                      static_cast<double>(std::max<std::int64_t>(s.length, 1));
    return std::max(s.floor, s.peak / ((1 / s.ratio - 1) * at + 1));
  };
}

Curve power_law(const Stretch& s, const DecayShape& shape) {
  const double batch = shape.batch_size.value_or(0), tokens = batch * shape.seq_length.value_or(0);
  return [=, a = shape.a, b = shape.b](std::int64_t t) {
    return std::min(s.peak, batch * a * std::pow(static_cast<double>(t) * tokens, b));
  };
}

Curve decay_curve(const DecayShape& shape, const Stretch& s) {
  if (shape.type == "constant") return [=](std::int64_t) { return s.peak; };
  if (shape.type == "cosine") return cosine(s, shape.exponent);
  if (shape.type == "linear") return line(s.peak, s.floor, s.length);
  if (shape.type == "inv_sqrt") return inverse_sqrt(s, shape.timescale);
  if (shape.type == "inv") return inverse(s);
  if (shape.type == "power") return power_law(s, shape);
  if (shape.type == "polynomial") {
    return [=, power = shape.power](std::int64_t t) {
      return (s.peak - s.floor) * std::pow(1 - progress(t, s.length), power) + s.floor;
    };
  }
  if (shape.type == "inv_sqrt_decay") {
    return [=, c = shape.decay_constant](std::int64_t t) {
      return s.peak / std::sqrt(1 + c * progress(t, s.length));
    };
  }
  fail(ErrorKind::Config, "lr_schedule: {} is unknown", shape.type);
}

std::vector<std::int64_t> inner_boundaries(const OptimizerConfig& c, std::int64_t steps) {
  std::vector<std::int64_t> out;
  if (const auto* count = std::get_if<std::int64_t>(&c.cycles)) {
    for (std::int64_t i = 1; i < *count; ++i) {
      out.push_back(static_cast<std::int64_t>(static_cast<double>(steps) / static_cast<double>(*count) *
                                              static_cast<double>(i)));
    }
  } else if (const auto* starts = std::get_if<std::vector<std::int64_t>>(&c.cycles)) {
    out = *starts;
  } else if (const auto* length = std::get_if<double>(&c.cycle_length)) {
    // As in Levanter: what does not divide makes the last cycle longer.
    const std::int64_t cycle = length_in_steps(*length, steps);
    for (std::int64_t i = 1; cycle > 0 && i < steps / cycle; ++i) out.push_back(i * cycle);
  } else if (const auto* lengths = std::get_if<std::vector<double>>(&c.cycle_length)) {
    for (const double each : *lengths)
      out.push_back((out.empty() ? 0 : out.back()) + length_in_steps(each, steps));
    if (!out.empty() && out.back() == steps) out.pop_back();
  }
  return out;
}

constexpr std::int64_t kMostCycles = 1'000'000;  // a schedule holds each

// Where a number, or one length, says how many; else 1.
std::int64_t equal_cycles(const OptimizerConfig& c, std::int64_t steps) {
  if (const auto* count = std::get_if<std::int64_t>(&c.cycles)) return *count;
  const auto* length = std::get_if<double>(&c.cycle_length);
  return length == nullptr ? 1 : steps / std::max<std::int64_t>(1, length_in_steps(*length, steps));
}

std::int64_t main_steps(const OptimizerConfig& c, std::int64_t total) {
  return total - length_in_steps(c.cooldown, total);
}

// The first steps of all, and the last one's end.
std::vector<std::int64_t> boundaries_of(const OptimizerConfig& c, std::int64_t steps) {
  auto out = inner_boundaries(c, steps);
  out.insert(out.begin(), 0);
  out.push_back(steps);
  return out;
}

// Lengths as they are asked for, which together may be more than the cycle's.
struct Cycle {
  std::int64_t begin, length, rise, fall;
  std::int64_t rest() const { return std::max<std::int64_t>(0, length - rise); }
};

Cycle cycle_of(const OptimizerConfig& c, const std::vector<std::int64_t>& boundaries, std::size_t index) {
  Cycle out{boundaries[index], boundaries[index + 1] - boundaries[index], 0, 0};
  out.rise = length_in_steps(index == 0 ? c.warmup : c.rewarmup, out.length);
  out.fall = c.decay ? length_in_steps(*c.decay, out.length) : out.rest();
  return out;
}

std::string shown(double value) { return fmt::format("{}", value); }

}  // namespace

const std::vector<std::string>& decay_shapes() {
  static const std::vector<std::string> shapes = {"constant",       "cosine", "inv",        "inv_sqrt",
                                                  "inv_sqrt_decay", "linear", "polynomial", "power"};
  return shapes;
}

bool is_length(double value) {
  return value >= 0 && (value <= 1 || (value < 0x1p53 && std::floor(value) == value));
}

std::string length_problem(double value) {
  if (!(value >= 0)) return fmt::format("{} must not be negative", shown(value));
  return fmt::format("{} is neither a fraction (up to 1.0) nor a whole number of steps; nearest: {} or {}",
                     shown(value), std::floor(value), std::ceil(value));
}

std::int64_t length_in_steps(double value, std::int64_t whole) {
  if (!is_length(value)) fail(ErrorKind::Config, "length: {}", length_problem(value));
  return static_cast<std::int64_t>(value <= 1 ? value * static_cast<double>(whole) : value);
}

std::vector<ScheduleProblem> schedule_problems(const OptimizerConfig& c, std::int64_t total_steps) {
  std::vector<ScheduleProblem> out;
  if (total_steps < 1) return {{"", fmt::format("a schedule needs at least 1 step, not {}", total_steps)}};
  const auto add_length = [&](const char* key, double value) {
    if (!is_length(value)) out.push_back({key, length_problem(value)});
  };
  add_length("warmup", c.warmup);
  if (c.decay) add_length("decay", *c.decay);
  add_length("rewarmup", c.rewarmup);
  add_length("cooldown", c.cooldown);
  if (c.cycles.index() != 0 && c.cycle_length.index() != 0) {
    out.push_back({"cycle_length", "excludes cycles; give one of them"});
  }
  if (const auto* length = std::get_if<double>(&c.cycle_length)) add_length("cycle_length", *length);
  if (const auto* lengths = std::get_if<std::vector<double>>(&c.cycle_length)) {
    for (const double length : *lengths) add_length("cycle_length", length);
  }
  if (!out.empty()) return out;

  const std::int64_t steps = main_steps(c, total_steps);
  if (steps < 1) return {{"cooldown", fmt::format("takes all of the {} steps", total_steps)}};
  const char* key = c.cycles.index() != 0 ? "cycles" : "cycle_length";
  const std::int64_t cycles = equal_cycles(c, steps);
  if (cycles > std::min(steps, kMostCycles)) {
    return {{key, fmt::format("makes {} cycles; at most {} fit {} steps", cycles,
                              std::min(steps, kMostCycles), steps)}};
  }
  std::int64_t before = 0;
  for (const std::int64_t boundary : inner_boundaries(c, steps)) {
    if (boundary >= steps) {
      out.push_back({key, fmt::format("a cycle begins at step {}, but there are {} steps", boundary, steps)});
    } else if (boundary <= before) {
      out.push_back(
          {key, fmt::format("a cycle begins at step {}, not after the one at step {}", boundary, before)});
    }
    before = boundary;
  }
  return out;
}

std::vector<ScheduleProblem> schedule_warnings(const OptimizerConfig& c, std::int64_t total_steps) {
  std::vector<ScheduleProblem> out;
  const auto boundaries = boundaries_of(c, main_steps(c, total_steps));
  const auto add = [&](const char* key, const std::string& message) {
    const auto is_it = [&](const ScheduleProblem& p) { return p.key == key; };
    if (std::none_of(out.begin(), out.end(), is_it)) out.push_back({key, message});
  };
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    const auto cycle = cycle_of(c, boundaries, i);
    const auto* rise = i == 0 ? "warmup" : "rewarmup";
    const auto whole = boundaries.size() > 2 ? fmt::format("the cycle from step {}", cycle.begin)
                       : c.cooldown > 0      ? std::string("the run before optimizer.cooldown")
                                             : std::string("the run");
    if (cycle.rise > cycle.length)
      add(rise, fmt::format(
                    "makes {} steps, and {} has {}: the learning rate never reaches optimizer.learning_rate",
                    cycle.rise, whole, cycle.length));
    else if (cycle.fall > cycle.rest())
      add("decay",
          fmt::format("makes {} steps beside the {} of optimizer.{} = {}, and {} has {}: the learning rate "
                      "falls in {}; null is all that is left",
                      cycle.fall, cycle.rise, rise, i == 0 ? c.warmup : c.rewarmup, whole, cycle.length,
                      cycle.rest()));
  }
  return out;
}

Schedule::Schedule(const OptimizerConfig& config, std::int64_t total_steps) : peak_(config.learning_rate) {
  for (const auto& problem : schedule_problems(config, total_steps)) {
    fail(ErrorKind::Config, "optimizer{}{}: {}", problem.key.empty() ? "" : ".", problem.key,
         problem.message);
  }
  const std::int64_t steps = main_steps(config, total_steps);
  boundaries_ = boundaries_of(config, steps);
  double value = 0;
  for (std::size_t i = 0; i + 1 < boundaries_.size(); ++i) value = add_cycle(config, i, value);
  if (steps < total_steps) {
    phases_.push_back({steps, line(value, peak_ * config.min_lr_ratio, total_steps - steps)});
    boundaries_.back() = total_steps;
  }
}

double Schedule::add_cycle(const OptimizerConfig& c, std::size_t index, double before) {
  const auto cycle = cycle_of(c, boundaries_, index);
  const auto [begin, length, rise, asked] = cycle;
  const auto fall = std::min(asked, cycle.rest());
  const auto upwards = line(before, peak_, rise);
  if (rise > 0) phases_.push_back({begin, upwards});
  if (rise > length) return upwards(length);  // it is cut, not made steeper
  if (rise + fall < length) phases_.push_back({begin + rise, [peak = peak_](std::int64_t) { return peak; }});
  if (fall == 0) return peak_;
  const Curve curve = decay_curve(c.lr_schedule, {peak_, peak_ * c.min_lr_ratio, c.min_lr_ratio, rise, fall});
  phases_.push_back({begin + length - fall, curve});
  return curve(fall);
}

double Schedule::operator()(std::int64_t step) const {
  const auto after = std::upper_bound(phases_.begin(), phases_.end(), step,
                                      [](std::int64_t s, const Phase& phase) { return s < phase.begin; });
  const Phase& phase = after == phases_.begin() ? *after : *std::prev(after);
  return phase.value(step - phase.begin);
}

double gpt3_schedule(std::int64_t step, std::int64_t warmup, std::int64_t anneal, double peak, double end) {
  const double rise = progress(step, warmup);
  const double fall = (1 - std::cos(std::numbers::pi * progress(step - warmup, anneal))) / 2;
  return peak * rise - (peak - end) * (step < warmup ? 0 : fall);
}

}  // namespace bora::optim
