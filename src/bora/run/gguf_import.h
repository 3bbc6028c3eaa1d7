// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models out of GGUF files.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_reader.h"
#include "bora/nn/language_model_interface.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

struct GgufImport {
  std::unique_ptr<nn::LanguageModel> model;
  std::optional<Tokenizer> tokenizer;  ///< none where the file has none
  Json generation;  ///< what generation_config.json says, of the tokens that begin, end and fill
};

/// The model of a file of one of the families of gguf_families.h, f32, f16, bf16 and q8_0, and its tokenizer, a
/// BPE over bytes or by scores. What export_gguf wrote as f32 comes back with the same bits, but for norms that are stored as
/// 1 + weight, whose sums have the same bits. Errors: those of GgufFile; Corruption, NotFound and Unsupported with the
/// tensors that differ, as load_hugging_face has them; Unsupported, by name, for values that mean a model that Bora
/// does not have.
GgufImport import_gguf(const std::string& path);

/// config.json of the model in a file, which says it in other words. Errors: those of import_gguf.
Json gguf_config(const checkpoint::GgufFile& file);

/// The tokenizer of a file and what it says of tokens that begin, end and fill texts. Unsupported for another than
/// a byte-level BPE that export_gguf writes, or one by scores.
std::optional<Tokenizer> tokenizer_of_gguf(const checkpoint::GgufFile& file);
Json generation_of_gguf(const checkpoint::GgufFile& file);

}  // namespace bora::run
