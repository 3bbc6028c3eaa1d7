// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/tokenize/model.h"
#include "bora/tokenize/pair_table.h"

namespace bora::tokenize {

struct BpeConfig {
  std::string unk_token;                  ///< empty: none; characters not in the vocabulary are dropped
  std::string continuing_subword_prefix;  ///< written before every unit but the first
  std::string end_of_word_suffix;         ///< written after the last unit
  bool fuse_unk = false;                  ///< neighbouring unknowns become one
  bool byte_fallback = false;             ///< <0xHH> for the bytes of what is not in the vocabulary
  bool rank_by_result = false;            ///< merges of one result are equals, ranked by its id (tiktoken)
  bool ignore_merges = false;             ///< a piece that is a token is that token, whatever the merges say
};

/// Byte pair encoding (Sennrich et al. 2016): units (characters, or bytes) are joined pair by pair, the pair
/// of the lowest rank first, the leftmost of equals. Short pieces are scanned, long ones go through a heap:
/// the time is near linear in the worst case.
class Bpe final : public Model {
 public:
  /// `merges` in rank order. `bytes`: pieces are raw bytes if takes_bytes() agrees. Errors: Corruption with
  /// `where` for members or results that are no tokens.
  Bpe(BpeConfig config, Vocabulary vocabulary, std::vector<std::pair<std::int32_t, std::int32_t>> merges,
      bool bytes, std::string_view where);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  bool takes_bytes() const override { return bytes_; }
  void write(std::string& out) const override;

  /// Where a text without pre-tokenizer may be cut without changing a single id: before every ▁ (U+2581) that
  /// follows something else, if no token holds the two together.
  bool cuts_at_metaspace() const { return cuts_at_metaspace_; }

 private:
  struct Symbol;
  std::optional<std::int32_t> unit_id(std::string_view unit, bool first, bool last) const;
  void units(std::string_view piece, std::vector<Symbol>& out) const;
  bool byte_units(std::string_view unit, std::vector<Symbol>& out) const;
  void merge_by_scan(std::vector<Symbol>& symbols) const;
  void merge_by_heap(std::vector<Symbol>& symbols) const;
  std::optional<std::int32_t> find_piece(std::string_view piece) const;
  std::string spelled(std::string_view unit, bool first, bool last) const;
  bool takes_raw_bytes() const;
  void index_units();
  bool metaspace_is_safe() const;

  BpeConfig config_;
  Vocabulary vocabulary_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges_;
  PairTable pairs_;
  bool bytes_ = false;
  bool plain_ = false;  // neither prefix nor suffix
  bool cuts_at_metaspace_ = false;
  std::optional<std::int32_t> unk_;
  std::array<std::int32_t, 256>
      byte_ids_{};  // unit of one byte (bytes_), or of one ASCII character; -1: none
  std::array<std::int32_t, 256> fallback_{};  // <0xHH>
};

std::unique_ptr<const Bpe> read_bpe(const JsonView& json, bool bytes);

}  // namespace bora::tokenize
