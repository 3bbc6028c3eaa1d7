// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bora/base/key.h"
#include "bora/base/range.h"

namespace bora::infer {

/// What top_p may be.
inline constexpr Range kTopP{.least = 0, .most = 1, .above = true};

/// How a token is drawn. The steps come in this order, which is that of `transformers`: penalties,
/// temperature, top_k, top_p, min_p.
struct SamplingOptions {
  double temperature = 1;  ///< 0: always the most probable token
  std::int64_t top_k = 0;  ///< > 0: only the k most probable
  double top_p = 1;  ///< < 1: only the most probable tokens that together reach p (Holtzman et al. 2020)
  double min_p = 0;  ///< > 0: only tokens at least min_p times as probable as the first (Nguyen et al. 2024)

  /// Tokens of the prompt and of the text so far: positive logits are divided by it, negative ones multiplied
  /// (Keskar et al. 2019; RepetitionPenaltyLogitsProcessor of `transformers`). 1: none.
  double repetition_penalty = 1;
  /// Taken from the logit of a token that the text so far holds (OpenAI's API; the prompt does not count).
  double presence_penalty = 0;
  /// Taken from it as often as the text so far holds it (OpenAI's API; the prompt does not count).
  double frequency_penalty = 0;

  bool penalizes() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
};

/// Index of the largest value; ties go to the lowest.
std::int32_t most_probable(std::span<const float> logits);

/// Takes the penalties from the logits of what the prompt and the text so far hold.
void penalize(std::span<float> logits, const SamplingOptions& options, std::span<const std::int32_t> prompt,
              std::span<const std::int32_t> text);

/// Draws a token. The draw depends on the logits, the options and the key alone. Penalties: see penalize().
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, Key key);

struct TokenLogProb {
  std::int32_t id = 0;
  double log_prob = 0;  ///< natural logarithm
};

/// What a model thought of a token and of others in its place.
struct LogProbs {
  double log_prob = 0;
  std::vector<TokenLogProb> top;  ///< the most probable ones, first to last, ties by id
};

/// Of token `id` and of the `alternatives` most probable ones, in the distribution of these logits as they
/// are: without temperature, without penalties, nothing cut.
LogProbs log_probs(std::span<const float> logits, std::int32_t id, std::int64_t alternatives);

}  // namespace bora::infer
