// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One forward pass with everything that can be compared: the work behind `bora forward` and the parity tests.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bora/nn/language_model_interface.h"

namespace bora::run {

struct ForwardOptions {
  bool hidden =
      false;  ///< hidden_states.i: 0 the embeddings, i the output of layer i, last after the final norm
  bool grads = false;                      ///< grad.<Hugging Face name>, of the loss, of what is trained
  core::DType compute = core::DType::f32;  ///< of loss and gradients
};

/// A named result: fp32, row-major, in the shape of the Hugging Face format.
struct NamedResult {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// logits [batch, position, vocab]; loss: mean cross-entropy of position t+1 given positions up to t.
std::map<std::string, NamedResult> forward(nn::LanguageModel& model, const std::vector<std::int32_t>& ids,
                                           std::int64_t batch, std::int64_t positions,
                                           const ForwardOptions& options);

}  // namespace bora::run
