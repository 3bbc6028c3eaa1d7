// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/no_export.h"

#include <fmt/core.h>

namespace bora::run {

std::string why_no_export(const Json& hf_config) {
  for (const char* key : {"hybrid_norm", "input_embedding_norm"})
    if (hf_config.value(key, false))
      return fmt::format("model.{} is set, and the Llama of Hugging Face and of llama.cpp has no such norm",
                         key);
  if (!hf_config.value("use_layer_norm_weight", true))
    return "model.use_layer_norm_weight is false, and the Llama of Hugging Face and of llama.cpp has such weights";
  if (!hf_config.value("use_bias", true))
    return "model.use_bias is false, and the GPT-2 of Hugging Face and of llama.cpp has biases";
  return "";
}

}  // namespace bora::run
