// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Opening whatever holds a model: a run, one of its checkpoints, or a Hugging Face directory.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bora/base/json.h"
#include "bora/nn/language_model_interface.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

struct OpenedModel {
  std::unique_ptr<nn::LanguageModel> model;
  std::optional<Tokenizer> tokenizer;
  Json generation;              ///< generation_of() its directory: what begins and ends its texts
  std::string generation_file;  ///< generation_config.json, where there is one; for messages
  std::string directory;        ///< where the weights came from
  std::string base;             ///< the model that its adapters are for, if it has any and that is known
  std::string adapter;          ///< the directory of PEFT's files that were put on it, if any
  bool prepend_bos = false;     ///< the tokenizer's post-processor starts texts with its beginning token

  /// NotFound, saying where it was looked for.
  const Tokenizer& require_tokenizer() const;
};

/// Where the tokenizer of a model's weights is: beside them, in a folder tokenizer there, or in one beside that
/// directory. "": nowhere.
std::string place_of_tokenizer(const std::string& directory);
std::optional<Tokenizer> tokenizer_near(const std::string& directory);

/// With the adapters that it was trained with; those of PEFT's files in the directory `adapter`, if one is
/// given, are put on it. A directory of PEFT alone is opened with the model that it names; a GGUF file is one
/// that gguf_import.h reads. Errors: NotFound,
/// listing what a model directory may be.
OpenedModel open_model(const std::string& path, const std::string& adapter = "");

/// Runs `use`; a NonFinite error that leaves it gains the first weight that is not finite in front, if one
/// is.
void naming_bad_weights(const OpenedModel& opened, const std::function<void()>& use);

}  // namespace bora::run
