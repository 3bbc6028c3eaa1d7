// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/infer/sampler.h"
#include "bora/nn/model_shape.h"

namespace bora::infer {

struct GenerateOptions {
  std::int64_t max_new_tokens = 100;
  std::vector<std::int32_t> stop_ids;  ///< generation ends before any of these tokens (ends of text)
  std::uint64_t seed = 0;              ///< a text's random numbers follow from it, the prompt and `sample`
  /// Of several texts for one prompt and seed: each draws from random numbers of its own.
  std::uint64_t sample = 0;
  SamplingOptions sampling;
  /// >= 0: log-probabilities of each token and of so many of the most probable ones in its place.
  std::int64_t log_probs = -1;
};

struct Request {
  std::vector<std::int32_t> prompt;
  GenerateOptions options;
};

/// Why a text ended.
enum class Finish {
  Stop,     ///< at one of stop_ids
  Length,   ///< at max_new_tokens
  Context,  ///< at the model's seq_len
  Caller,   ///< on_token asked for it, or the request was cancelled
};

/// "stop", "length", "context", "caller".
std::string_view name(Finish finish);

struct Generated {
  std::vector<std::int32_t> ids;    ///< the new ones
  std::vector<LogProbs> log_probs;  ///< of each, where asked
  Finish finish = Finish::Length;
};

/// InvalidArgument for an empty prompt, one as long as the model's seq_len, or an id outside the vocabulary.
void require_prompt(const nn::ModelShape& shape, const std::vector<std::int32_t>& prompt);

}  // namespace bora::infer
