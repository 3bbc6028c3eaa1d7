// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Keys that several optimizers have.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/text.h"
#include "bora/core/dtype.h"

namespace bora::optim {

/// The decay of a running mean.
inline constexpr Range kBelowOne{.least = 0, .most = 1, .below = true};
/// Steps whose numbers are kept.
inline constexpr Range kWindow = from_to(2, 1'000'000);

inline void bind_max_grad_norm(Binder& b, std::optional<double>& norm) {
  b.field("max_grad_norm", norm, kNonNegative,
          "gradients are scaled down to this global norm; null or 0: never");
}

/// Of moments. bf16 takes half the memory: each step rounds them by chance, so that their means stay.
inline void bind_state_dtype(Binder& b, core::DType& dtype) {
  static const std::vector<std::string> words{"f32", "bf16", "float32", "bfloat16"};
  std::string word(core::name(dtype));
  b.choice(
      "state_dtype", word, words,
      "what moments are kept in; bf16: half the memory, rounded by chance, the same for any number of workers");
  if (b.reading()) dtype = core::parse_dtype(word);
}

/// A policy that compares a step with a window of the last ones: false, true, a window, or
/// {rolling_interval_length, sigma_factor}.
template <class Policy>
void bind_policy(Binder& b, std::string_view name, std::optional<Policy>& policy, std::string_view doc) {
  const auto word = b.reading() && b.present(name) && !b.is_null(name) ? b.text(name) : std::nullopt;
  if (!word) {
    const bool write_false = !b.reading() && !policy;
    bool off = false;
    if (write_false)
      b.field(name, off, doc);
    else
      b.field(name, policy, doc);
    return;
  }
  policy.reset();
  if (parse_int(*word)) {
    policy.emplace();
    b.field(name, policy->rolling_interval_length, kWindow, doc);
  } else {
    bool on = false;
    b.field(name, on, doc);
    if (on) policy.emplace();
  }
}

/// The keys of the map.
template <class Policy>
void bind_policy_fields(Binder& b, Policy& p) {
  b.field("rolling_interval_length", p.rolling_interval_length, kWindow, "steps in the window");
  b.field("sigma_factor", p.sigma_factor, kPositive, "standard deviations above the mean of the window");
}

}  // namespace bora::optim
