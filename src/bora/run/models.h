// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models of all architectures: made from a configuration, loaded, exported.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/checkpoint/hugging_face.h"
#include "bora/models/model_config.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/adapters.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// A model whose parameters have room and no values yet: for those who read all of them from a file.
std::unique_ptr<nn::LanguageModel> model_to_fill(const models::ModelConfig& config, std::int64_t vocab);
/// The model of a Hugging Face directory, weights loaded.
std::unique_ptr<nn::LanguageModel> load_model(const std::string& directory);
/// A model's parameters, but not those of adapters, with their Hugging Face names, in the order of their ids;
/// those of experts in pieces.
std::vector<checkpoint::HfParameter> hf_parameters(nn::LanguageModel& model);

/// Writes config.json, tensors, the tokenizer's files and `generation`, its generation_config.json, which
/// names the tokens that begin, end and fill texts: what Hugging Face loads. A token that it does not name
/// becomes null in config.json: left out, `transformers` would fill in that of the model type. Adapters are
/// merged into what is written. `whole` gives the whole values of a parameter; null: they are in memory.
void export_hugging_face(nn::LanguageModel& model, const std::optional<Tokenizer>& tokenizer,
                         const Json& generation, const std::string& directory, core::DType dtype,
                         const WholeValues& whole = nullptr);

}  // namespace bora::run
