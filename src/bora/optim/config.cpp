// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bora/base/keys_of_types.h"
#include "bora/base/text.h"
#include "bora/optim/common_keys.h"
#include "bora/optim/schedule.h"
#include "bora/optim/weight_decay.h"

namespace bora::optim {
namespace {

// `limits`: the range of numbers, nothing for words.
template <class T, class... Limits>
void bind_one_or_many(Binder& b, std::string_view name, OneOrMany<T>& value, std::string_view doc,
                      const Limits&... limits) {
  if (b.reading() && b.present(name)) {
    if (b.is_null(name))
      value = std::monostate{};
    else if (b.is_list(name))
      value = std::vector<T>{};
    else
      value = T{};
  }
  std::optional<T> none;
  if (auto* one = std::get_if<T>(&value))
    b.field(name, *one, limits..., doc);
  else if (auto* many = std::get_if<std::vector<T>>(&value))
    b.field(name, *many, limits..., doc);
  else
    b.field(name, none, limits..., doc);
}

void check(Binder& b, std::string_view name, bool holds, const std::string& message) {
  if (b.reading() && !holds) b.problem(name, message);
}

void check_length(Binder& b, std::string_view name, double value) {
  check(b, name, is_length(value), length_problem(value));
}

// A fraction, or a number of steps.
constexpr Range kLength = from_to(0, 0x7FFFFFFF);
constexpr Range kCycleLength{.least = 0, .most = 0x7FFFFFFF, .above = true};

void bind_decay_shape(Binder& b, DecayShape& shape) {
  constexpr std::string_view doc = "shape of the decay, or {type: ..., and its numbers}";
  if (b.reading() ? b.is_map("lr_schedule") : shape != DecayShape{.type = shape.type}) {
    b.field("lr_schedule", shape, doc);
  } else {
    b.choice("lr_schedule", shape.type, decay_shapes(), doc);
    check(b, "lr_schedule", shape.type != "power",
          "power needs its numbers: {type: power, batch_size: ..., seq_length: ...}");
  }
}

// Levanter's older name for a list of cycles. The name that they were given under.
std::string_view bind_older_cycles(Binder& b, OptimizerConfig& c) {
  constexpr std::string_view kOlder = "haps";
  std::optional<std::vector<std::int64_t>> starts;
  if (b.reading()) b.field(kOlder, starts, at_least(1));
  if (!starts) return "cycles";
  check(b, kOlder, c.cycles.index() == 0, "is an older name of cycles, which is given, too; leave it out");
  c.cycles = std::move(*starts);
  return kOlder;
}

void bind_cycles(Binder& b, OptimizerConfig& c) {
  bind_one_or_many(b, "cycles", c.cycles,
                   "number of cycles, or the steps at which new ones begin (also: haps)", at_least(1));
  const auto name = bind_older_cycles(b, c);
  bind_one_or_many(b, "cycle_length", c.cycle_length, "length of a cycle, or of each", kCycleLength);
  if (!b.reading()) return;
  const bool both = c.cycles.index() != 0 && c.cycle_length.index() != 0;
  check(b, "cycle_length", !both, fmt::format("excludes {}; give one of them", name));
  if (const auto* starts = std::get_if<std::vector<std::int64_t>>(&c.cycles)) {
    const bool rising =
        std::adjacent_find(starts->begin(), starts->end(), std::greater_equal<>()) == starts->end();
    check(b, name, rising, "must be rising steps above 0");
  }
  const auto check_cycle = [&](double length) { check_length(b, "cycle_length", length); };
  if (const auto* length = std::get_if<double>(&c.cycle_length)) check_cycle(*length);
  if (const auto* lengths = std::get_if<std::vector<double>>(&c.cycle_length)) {
    for (const double length : *lengths) check_cycle(length);
  }
}

void bind_schedule(Binder& b, OptimizerConfig& c) {
  b.field("learning_rate", c.learning_rate, kNonNegative, "peak learning rate");
  b.field("min_lr_ratio", c.min_lr_ratio, kFraction, "the floor, as a ratio of the peak");
  b.field("warmup", c.warmup, kLength,
          "length of the first rise: a fraction of the cycle (up to 1.0) or steps");
  b.field("decay", c.decay, kLength, "length of the decay; null: all that is left of the cycle");
  b.field("rewarmup", c.rewarmup, kLength,
          "length of the rise of later cycles; 0: straight back to the peak");
  bind_cycles(b, c);
  b.field("cooldown", c.cooldown, kLength, "deprecated: a last linear decay to the floor");
  bind_decay_shape(b, c.lr_schedule);
  check(b, "lr_schedule", c.lr_schedule.type != "inv" || c.min_lr_ratio > 0,
        "inv needs min_lr_ratio above 0");
  check_length(b, "warmup", c.warmup);
  if (c.decay) check_length(b, "decay", *c.decay);
  check_length(b, "rewarmup", c.rewarmup);
  check_length(b, "cooldown", c.cooldown);
}

void bind_weight_decay(Binder& b, OptimizerConfig& c) {
  b.field("weight_decay", c.weight_decay, kNonNegative, "decoupled, multiplied by the learning rate");
  bind_one_or_many(b, "weight_decay_modules", c.weight_decay_modules,
                   "what decays: a regular expression, or a list of parts of names");
  b.field("default_weight_decay_mask", c.default_weight_decay_mask,
          "norms, embeddings and biases do not decay; null: unless weight_decay_modules is given");
  if (const auto* pattern = std::get_if<std::string>(&c.weight_decay_modules)) {
    const auto wrong = regex_problem(*pattern);
    check(b, "weight_decay_modules", !wrong, wrong.value_or(""));
  }
}

void refuse_numbers_of_other_shapes(Binder& binder, const DecayShape& shape) {
  if (!binder.sound({"type"})) return;
  const DecayShape usual;
  const KeyOfTypes all[] = {
      {"exponent", "cosine", shape.exponent == usual.exponent},
      {"power", "polynomial", shape.power == usual.power},
      {"timescale", "inv_sqrt", shape.timescale == usual.timescale},
      {"decay_constant", "inv_sqrt_decay", shape.decay_constant == usual.decay_constant},
      {"batch_size", "power", !shape.batch_size},
      {"seq_length", "power", !shape.seq_length},
      {"a", "power", shape.a == usual.a},
      {"b", "power", shape.b == usual.b}};
  refuse_keys_of_other_types(binder, shape.type, all);
}

}  // namespace

void DecayShape::bind(Binder& binder) {
  binder.choice("type", type, decay_shapes(), "shape of the decay");
  binder.field("exponent", exponent, kPositive, "cosine: exponent of the cosine term");
  binder.field("power", power, kPositive, "polynomial: its power");
  binder.field("timescale", timescale, kPositive, "inv_sqrt: steps until the rate begins to fall");
  binder.field("decay_constant", decay_constant, kNonNegative,
               "inv_sqrt_decay: the rate at the end is peak / sqrt(1 + this)");
  binder.field("batch_size", batch_size, kPositive, "power: sequences per step");
  binder.field("seq_length", seq_length, kPositive, "power: tokens per sequence");
  binder.field("a", a, kFinite, "power: factor");
  binder.field("b", b, kFinite, "power: exponent");
  check(binder, "type", type != "power" || (batch_size && seq_length),
        "power needs batch_size and seq_length");
  if (binder.reading()) refuse_numbers_of_other_shapes(binder, *this);
}

void SkipStepConfig::bind(Binder& b) { bind_policy_fields(b, *this); }

void OptimizerConfig::bind_common(Binder& b) {
  bind_schedule(b, *this);
  bind_weight_decay(b, *this);
}

void OptimizerConfig::bind_skip_bad_steps(Binder& b) {
  bind_policy(b, "skip_bad_steps", skip_bad_steps,
              "steps whose loss or gradient norm stands out are skipped: false, true, a window, or a map");
}

}  // namespace bora::optim
