// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bora/base/config.h"
#include "bora/core/dtype.h"

namespace bora::optim {

/// Nothing, one value, or a list: several of Levanter's keys take either. (A single number of cycles is a
/// count, a list is their boundaries, so "a list of one" will not do.)
template <class T>
using OneOrMany = std::variant<std::monostate, T, std::vector<T>>;

/// Shape of the decay (lr_schedule): a word, or a map {type: ..., and its numbers}.
struct DecayShape {
  std::string type = "cosine";
  double exponent = 1;                           ///< cosine: of the cosine term
  double power = 2;                              ///< polynomial
  double timescale = 10000;                      ///< inv_sqrt: steps
  double decay_constant = 28.6;                  ///< inv_sqrt_decay
  std::optional<double> batch_size, seq_length;  ///< power: required there
  double a = 4.6, b = -0.51;                     ///< power (arXiv 2408.13359)
  bool operator==(const DecayShape&) const = default;
  void bind(Binder& binder);
};

/// A bad step is skipped (skip_step.h).
struct SkipStepConfig {
  std::int64_t rolling_interval_length = 128;
  double sigma_factor = 6;
  void bind(Binder& b);
};

/// The keys of every optimizer, with Levanter's names and defaults; those of a type are a struct that derives
/// from this one, has them beside these, and may change the defaults of these in its constructor. Lengths
/// (warmup, decay, rewarmup, cycle_length, cooldown): up to 1.0 a fraction, above 1 a whole number of steps.
struct OptimizerConfig {
  double learning_rate = 6e-4;
  double weight_decay = 0.1;
  double min_lr_ratio = 0.1;
  double warmup = 0.01;
  std::optional<double> decay;
  double rewarmup = 0;
  OneOrMany<std::int64_t> cycles;
  OneOrMany<double> cycle_length;
  double cooldown = 0;
  DecayShape lr_schedule;
  OneOrMany<std::string> weight_decay_modules;  ///< one: a regular expression; many: substrings
  std::optional<bool> default_weight_decay_mask;
  std::optional<SkipStepConfig> skip_bad_steps;
  core::DType state_dtype = core::DType::f32;  ///< of moments: f32 or bf16; bound by the types that have them

  void bind_common(Binder& b);          ///< schedule and weight decay
  void bind_skip_bad_steps(Binder& b);  ///< comes last
  void bind(Binder&) {}                 ///< the keys of the type itself: none
};

}  // namespace bora::optim
