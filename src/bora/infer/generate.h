// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "bora/infer/sampler.h"
#include "bora/nn/language_model.h"

namespace bora::infer {

struct GenerateOptions {
  std::int64_t max_new_tokens = 100;
  std::vector<std::int32_t> stop_ids;  ///< generation ends before any of these tokens (ends of text)
  std::uint64_t seed = 0;
  /// Of several texts for one prompt and seed: each draws from random numbers of its own.
  std::uint64_t sample = 0;
  SamplingOptions sampling;
  /// >= 0: log-probabilities of each token and of so many of the most probable ones in its place.
  std::int64_t log_probs = -1;
};

/// Why a text ended.
enum class Finish {
  Stop,     ///< at one of stop_ids
  Length,   ///< at max_new_tokens
  Context,  ///< at the model's seq_len
  Caller,   ///< on_token asked for it
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

/// Continues a prompt, one token at a time, with cached keys and values. Stops at max_new_tokens, at one of
/// stop_ids, or at the model's seq_len. `on_token` is called with each new token; false ends the generation.
/// Returns the new tokens. Where several workers hold the model, all of them call it alike and get the same
/// tokens. Errors: InvalidArgument for an empty prompt, a prompt as long as seq_len, or an id outside the
/// vocabulary; NonFinite for logits that are not finite.
std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

struct Request {
  std::vector<std::int32_t> prompt;
  GenerateOptions options;
};

/// Called with each new token of a request; false ends that request.
using OnToken = std::function<bool(std::size_t request, std::int32_t id)>;

/// Continues several prompts of any lengths together: a step of the model adds a token to each that has not
/// ended. Request i gets the tokens that it gets alone, whatever the others are. Errors as above, before
/// anything is generated or at the first request that meets one.
std::vector<Generated> generate_all(const nn::LanguageModel& model, const std::vector<Request>& requests,
                                    const OnToken& on_token = {});

/// The same, the tokens alone.
std::vector<std::vector<std::int32_t>> generate(const nn::LanguageModel& model,
                                                const std::vector<Request>& requests,
                                                const OnToken& on_token = {});

}  // namespace bora::infer
