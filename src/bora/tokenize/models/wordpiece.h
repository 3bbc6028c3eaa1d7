// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/byte_trie.h"
#include "bora/tokenize/models/model.h"

namespace bora::tokenize {

struct WordPieceConfig {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";  ///< how the vocabulary spells pieces inside a word
  std::int64_t max_input_chars_per_word = 100;   ///< longer words are unknown
};

/// WordPiece (Schuster and Nakajima 2012, as BERT has it): again and again the longest piece that the rest of
/// the word starts with; a word that cannot be covered so is unknown as a whole.
class WordPiece final : public Model {
 public:
  WordPiece(WordPieceConfig config, Vocabulary vocabulary);

  /// Errors: InvalidArgument for an unknown word where the unknown token is no token.
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  bool spells(std::string_view text, std::int32_t id) const override;
  void write(std::string& out) const override;

 private:
  WordPieceConfig config_;
  Vocabulary vocabulary_;
  ByteTrie first_, inside_;
  std::optional<std::int32_t> unk_;
};

/// {"type": "WordPiece", "unk_token": STRING, "continuing_subword_prefix": STRING,
///  "max_input_chars_per_word": COUNT, "vocab": {PIECE: ID, ...}}
std::unique_ptr<const Model> read_wordpiece(const JsonView& json);

}  // namespace bora::tokenize
