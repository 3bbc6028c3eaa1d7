// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models as one GGUF file, for llama.cpp.
#pragma once
#include <optional>
#include <string>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_writer.h"
#include "bora/nn/language_model.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// Writes a model of a family that gguf_families.h has and its tokenizer, a byte-level BPE, into the file
/// `path`. Matrices have `type`; vectors, learned positions and routers stay f32. Adapters are merged. Errors:
/// Unsupported for what llama.cpp does not compute or does not split as the tokenizer does, by name.
void export_gguf(nn::LanguageModel& model, const Tokenizer& tokenizer, const Json& generation,
                 const std::string& path, checkpoint::GgufType type);

/// What a GGUF file says of a tokenizer: `rows` tokens, as many as the model has embeddings.
std::vector<std::pair<std::string, checkpoint::GgufValue>> gguf_tokenizer(const Tokenizer& tokenizer,
                                                                          const Json& generation,
                                                                          std::int64_t rows);

}  // namespace bora::run
