// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/add_model.h"

#include "bora/base/error.h"

namespace bora::models {

std::unique_ptr<nn::LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, Key key) {
  config.parameter_count(vocab_size);  // fails where their number is none
  const auto* type = model_types().find(config.type());
  if (type == nullptr || !type->make)
    fail(ErrorKind::Unsupported, "models of type {} cannot be made", config.type());
  return type->make(config, vocab_size, key);
}

}  // namespace bora::models
