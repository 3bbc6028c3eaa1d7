// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the sense vectors of a Backpack say.
#pragma once
#include <cstdint>
#include <vector>

#include "bora/nn/language_model_interface.h"

namespace bora::run {

struct SensePrediction {
  std::int32_t id;
  float logit;
};

/// For each sense of the token `id`, the `top` tokens that it speaks for most, the strongest first; equal ones by
/// id. A text of this token alone has the sum over senses as its logits. Errors: Unsupported for models of another type
/// than backpack; InvalidArgument for an id that the model does not have.
std::vector<std::vector<SensePrediction>> predictions_of_senses(nn::LanguageModel& model, std::int32_t id,
                                                                std::int64_t top);

}  // namespace bora::run
