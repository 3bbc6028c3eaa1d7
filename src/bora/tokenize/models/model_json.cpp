// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// "model" of tokenizer.json: an object with "type"; the members of each are written beside its code.
#include <fmt/core.h>

#include <string>

#include "bora/base/error.h"
#include "bora/tokenize/formats/sentencepiece.h"
#include "bora/tokenize/models/bpe.h"
#include "bora/tokenize/models/model.h"
#include "bora/tokenize/models/unigram.h"
#include "bora/tokenize/models/word_level.h"
#include "bora/tokenize/models/wordpiece.h"

namespace bora::tokenize {

namespace {

/// The model's name; files of older versions leave it out, and only its members tell.
std::string model_type(const JsonView& json) {
  if (const auto type = json.find("type")) return std::string(type->string());
  if (json.find("merges")) return "BPE";
  if (json.find("max_input_chars_per_word")) return "WordPiece";
  return json.find("vocab") && json.at("vocab").is_array() ? "Unigram" : "WordLevel";
}

}  // namespace

void Model::append_ids(std::string_view piece, bool /*no_token*/, std::vector<std::int32_t>& out) const {
  thread_local std::vector<Token> tokens;
  tokens.clear();
  tokenize(piece, tokens);
  for (const Token& token : tokens) out.push_back(token.id);
}

std::unique_ptr<const Model> read_model(const JsonView& json, bool bytes) {
  const std::string type = model_type(json);
  if (type == "BPE") return read_bpe(json, bytes);
  if (type == "Unigram") return read_unigram(json);
  if (type == "WordPiece") return read_wordpiece(json);
  if (type == "WordLevel") return read_word_level(json);
  if (type == "SentencePiece") return read_sentencepiece(json);
  fail(ErrorKind::Unsupported,
       "{}: the model {} is not supported; Bora reads BPE, Unigram, WordPiece and WordLevel", json.where(),
       json_string(type));
}

}  // namespace bora::tokenize
