// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin.h"
#include "bora/models/model_types.h"
#include "bora/models/whisper.h"

namespace bora::models {

void add_speech_models() {
  add_type<whisper::Config>(
      "whisper", "Whisper, from sound to text (Radford et al. 2022)",
      [](const ModelConfig& config, std::int64_t vocab_size, Key key) -> std::unique_ptr<nn::LanguageModel> {
        const auto& own = dynamic_cast<const ModelConfigOf<whisper::Config>&>(config).config;
        return whisper::erase_type(whisper::Whisper::init(own, Dim<whisper::Vocab>{vocab_size}, key));
      });
}

}  // namespace bora::models
