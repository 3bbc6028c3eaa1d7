// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models as one GGUF file, for llama.cpp.
#pragma once
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_writer.h"
#include "bora/nn/language_model_interface.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// Writes a model of a family that gguf_families.h has and its tokenizer, a BPE over bytes or one like
/// SentencePiece's, into the file `path`. Matrices have `type`; vectors, learned positions and routers stay f32.
/// Adapters are merged. Returns what llama.cpp does otherwise all the same, a sentence each. Errors: Unsupported for
/// what llama.cpp does not compute or does not split as the tokenizer does, by name.
std::vector<std::string> export_gguf(nn::LanguageModel& model, const Tokenizer& tokenizer,
                                     const Json& generation, const std::string& path,
                                     checkpoint::GgufType type);

}  // namespace bora::run
