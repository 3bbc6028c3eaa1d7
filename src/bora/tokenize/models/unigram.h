// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/byte_trie.h"
#include "bora/tokenize/models/model.h"

namespace bora::tokenize {

/// A score as serde_json, the JSON reader of `tokenizers`, takes it in: up to two roundings, where the
/// decimal fraction has more than 53 bits. A quarter of T5's scores differ in their last bit, which decides
/// ties.
double serde_json_number(double exact);

/// The unigram language model (Kudo 2018): the segmentation whose pieces have the largest sum of scores, by
/// dynamic programming. A character that is no piece costs 10 more than the worst piece; neighbouring
/// unknowns become one token, or the bytes of all of them.
class Unigram final : public Model {
 public:
  struct Piece {
    std::string text;
    double score = 0;
  };
  /// Ids are positions. `unk_id` < pieces.size().
  Unigram(std::vector<Piece> pieces, std::optional<std::int32_t> unk_id, bool byte_fallback);

  /// Errors: InvalidArgument for a character that is no piece where there is no unknown token.
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  bool is_fallback(std::int32_t id) const override {
    return std::ranges::find(fallback_, id) != fallback_.end();
  }
  std::string_view text_of(const Token& token, std::string_view piece) const override;
  void write(std::string& out) const override;

 private:
  struct Best {  // of the segmentations that end at a byte
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;
    double score = 0;
    std::uint32_t begin = kNone;  // of the last piece
    std::int32_t id = -1;
  };
  void find_best(std::string_view text, std::vector<Best>& best) const;
  void append_unknown(std::string_view text, std::uint32_t begin, std::uint32_t end,
                      std::vector<Token>& out) const;

  std::vector<double> scores_;   // as written
  std::vector<double> weights_;  // as used
  Vocabulary vocabulary_;
  ByteTrie trie_;
  double unk_weight_ = 0;
  std::optional<std::int32_t> unk_;
  bool byte_fallback_ = false;
  std::array<std::int32_t, 256> fallback_{};  // <0xHH>; -1: none
};

/// {"type": "Unigram", "unk_id": ID | null, "vocab": [[PIECE, SCORE], ...], "byte_fallback": BOOL}
std::unique_ptr<const Model> read_unigram(const JsonView& json);

}  // namespace bora::tokenize
