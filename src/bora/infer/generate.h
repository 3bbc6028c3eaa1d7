// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// All of some texts in one call; infer/engine.h has texts that come and go.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bora/infer/request.h"
#include "bora/nn/language_model_interface.h"

namespace bora::infer {

/// Continues a prompt, one token at a time, with cached keys and values. Stops at max_new_tokens, at one of
/// stop_ids, or at the model's seq_len. `on_token` is called with each new token; false ends the generation.
/// Returns the new tokens. Where several workers hold the model, all of them call it alike and get the same
/// tokens. Errors: InvalidArgument for an empty prompt, a prompt as long as seq_len, or an id outside the
/// vocabulary; NonFinite for logits that are not finite.
std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token = {});

/// Called with each new token of a request; false ends that request.
using OnToken = std::function<bool(std::size_t request, std::int32_t id)>;

/// Continues several prompts of any lengths together: all are read, then a step of the model adds a token to each
/// that has not ended. Request i gets the tokens that it gets alone, whatever the others are. Errors as above,
/// before anything is generated or at the first request that meets one.
std::vector<Generated> generate_all(const nn::LanguageModel& model, const std::vector<Request>& requests,
                                    const OnToken& on_token = {});

/// The same, the tokens alone.
std::vector<std::vector<std::int32_t>> generate(const nn::LanguageModel& model,
                                                const std::vector<Request>& requests,
                                                const OnToken& on_token = {});

}  // namespace bora::infer
