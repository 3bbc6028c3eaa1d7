// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bora/infer/sampler.h"
#include "bora/nn/language_model.h"

namespace bora::infer {

struct GenerateOptions {
  std::int64_t max_new_tokens = 100;
  std::vector<std::int32_t> stop_ids;  ///< generation ends before any of these tokens (ends of text)
  std::uint64_t seed = 0;
  SamplingOptions sampling;
};

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

/// Continues several prompts of any lengths together: a step of the model adds a token to each that has not
/// ended. Request i gets the tokens that it gets alone, whatever the others are. `on_token` is called with
/// the request, too; false ends that one. Errors as above, before anything is generated or at the first
/// request that meets one.
std::vector<std::vector<std::int32_t>> generate(
    const nn::LanguageModel& model, const std::vector<Request>& requests,
    const std::function<bool(std::size_t request, std::int32_t id)>& on_token = {});

}  // namespace bora::infer
