// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/formats/sentencepiece_file.h"
#include "bora/tokenize/models/byte_trie.h"
#include "bora/tokenize/models/model.h"

namespace bora::tokenize {

/// The four algorithms of SentencePiece (Kudo and Richardson 2018) as versions 0.2.0 and 0.2.1 of the library run
/// them (0.2.3 gives other ids to ties and near user-defined symbols): scores are
/// single precision, user-defined symbols are never cut, unused pieces never come out. A piece is a whole
/// text as SentencePieceNormalizer leaves it. Neighbouring unknowns become one token; with byte fallback each
/// becomes its bytes.
class SentencePiece final : public Model {
 public:
  /// Errors: Corruption, with `where`: no unknown piece or two, a text given twice, a byte that is missing.
  SentencePiece(SentencePieces pieces, std::string_view where);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  bool fuses_unknowns() const override { return true; }
  std::string_view text_of(const Token& token, std::string_view piece) const override;
  void write(std::string& out) const override;

 private:
  using Kind = SentencePieces::Kind;
  struct Symbol;
  class Merger;
  Kind kind(std::int32_t id) const { return pieces_.pieces[static_cast<std::size_t>(id)].kind; }
  float score(std::int32_t id) const { return pieces_.pieces[static_cast<std::size_t>(id)].score; }
  std::int32_t id_of(std::string_view text) const;
  void check(std::string_view where);

  void unigram(std::string_view text, std::vector<Token>& out) const;
  void bpe(std::string_view text, std::vector<Token>& out) const;
  void words(std::string_view text, std::vector<Token>& out) const;
  void characters(std::string_view text, std::vector<Token>& out) const;
  void append(std::string_view text, Token token, bool& after_unknown, std::vector<Token>& out) const;

  SentencePieces pieces_;
  Vocabulary vocabulary_;
  ByteTrie trie_;  // normal, user-defined and unused pieces
  ByteTrie user_defined_;
  bool cuts_ = false;  // BPE: no piece has a ▁ behind something else, and ▁ is one
  bool has_unused_ = false;
  float unk_score_ = 0, max_score_ = 0;
  std::int32_t unk_ = 0;
  std::array<std::int32_t, 256> bytes_{};
};

/// {"type": "SentencePiece", ...} as write() puts it; only Bora reads it.
std::unique_ptr<const Model> read_sentencepiece(const JsonView& json);

}  // namespace bora::tokenize
