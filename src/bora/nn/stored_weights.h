// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/stored_weight.h"
#include "bora/nn/language_model_interface.h"

namespace bora::nn {

/// Keeps the weights of a model's linear maps and of its head as `type` (core/stored_weight.h), one after the
/// other: for generation on one worker, after adapters. A table of embeddings stays as it is unless it is the
/// head too; so do the weights of experts. Errors: Unsupported where the model says nothing of its linear
/// maps; those of core::store_weight, with the weight's path.
void store_weights(LanguageModel& model, core::WeightType type);
/// Gives them the values that this would keep, in fp32.
void round_weights(LanguageModel& model, core::WeightType type);

/// Bytes that a token reads of the weights: all but a table of embeddings that is not the head.
std::int64_t weight_bytes_of_a_token(LanguageModel& model);

}  // namespace bora::nn
