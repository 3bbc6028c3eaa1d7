// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>

#include "bora/base/key.h"

namespace bora::infer {

struct SamplingOptions {
  double temperature = 1;  ///< 0: always the most probable token
  std::int64_t top_k = 0;  ///< > 0: only the k most probable
  double top_p = 1;  ///< < 1: only the most probable tokens that together reach p (Holtzman et al. 2020)
};

/// Index of the largest value; ties go to the lowest.
std::int32_t most_probable(std::span<const float> logits);

/// Draws a token. The draw depends on the logits, the options and the key alone.
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, Key key);

}  // namespace bora::infer
