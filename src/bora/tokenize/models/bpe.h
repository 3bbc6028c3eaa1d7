// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/tokenize/models/model.h"
#include "bora/tokenize/models/pair_table.h"
#include "bora/unicode/unicode.h"

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
/// the time is near linear in the worst case (bpe_merge.cpp).
class Bpe final : public Model {
 public:
  /// `merges` in rank order. `bytes`: pieces are raw bytes if takes_bytes() agrees. Errors: Corruption with
  /// `where` for members or results that are no tokens.
  Bpe(BpeConfig config, Vocabulary vocabulary, std::vector<std::pair<std::int32_t, std::int32_t>> merges,
      bool bytes, std::string_view where);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  void append_ids(std::string_view piece, bool no_token, std::vector<std::int32_t>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::optional<std::int32_t> unk_id() const override { return unk_; }
  bool spells(std::string_view text, std::int32_t id) const override;
  bool is_fallback(std::int32_t id) const override {
    return std::ranges::find(fallback_, id) != fallback_.end();
  }
  bool takes_bytes() const override { return bytes_; }
  /// What stands behind a word's last token and in none of its text; mostly "".
  const std::string& end_of_word_suffix() const { return config_.end_of_word_suffix; }
  void write(std::string& out) const override;

  /// Calls use(part) for the parts of `text` that no merge can join: between two characters that no merge
  /// brings together it may be cut without changing a single id.
  template <class Use>
  void cut(std::string_view text, Use&& use) const;

 private:
  static constexpr std::size_t kMetaspace = 128, kOther = 129, kJoinClasses = 130;  // after those of ASCII
  static constexpr std::size_t kScanLimit = 48;  // units; longer pieces are merged through a heap
  /// A unit, or what it has grown to. Symbols of a piece are a list: those merged away have no bytes.
  struct Symbol {
    std::int32_t id = 0;
    std::uint32_t bytes = 0;
    std::uint32_t rank = PairTable::kNoRank;  // of the merge with the symbol after it
    std::int32_t before = -1, after = -1;     // (heap)
  };
  std::optional<std::int32_t> unit_id(std::string_view unit, bool first, bool last) const;
  void units(std::string_view piece, std::vector<Symbol>& out) const;
  bool byte_units(std::string_view unit, std::vector<Symbol>& out) const;
  void merge(std::vector<Symbol>& symbols) const;
  void merge_by_scan(std::vector<Symbol>& symbols) const;
  void merge_by_heap(std::vector<Symbol>& symbols) const;
  std::size_t merge_ids(std::int32_t* ids, std::uint32_t* ranks, std::size_t n) const;
  void append_bytes(std::string_view piece, std::vector<std::int32_t>& out) const;
  static std::vector<Symbol>& thread_symbols();
  std::optional<std::int32_t> find_piece(std::string_view piece) const;
  std::string spelled(std::string_view unit, bool first, bool last) const;
  bool takes_raw_bytes() const;
  void read_merges(std::string_view where);
  void index_units();
  void index_joins();
  bool has_odd_merges() const;
  static std::size_t join_class(const char* p, std::size_t length);

  BpeConfig config_;
  Vocabulary vocabulary_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges_;
  PairTable pairs_;
  std::vector<std::int32_t> results_;      // of merges, by rank
  std::vector<std::uint32_t> byte_pairs_;  // (bytes_) ranks by first and second byte
  bool bytes_ = false;
  bool plain_ = false;               // neither prefix nor suffix
  std::vector<std::uint8_t> joins_;  // by classes of two characters; empty: anything may be joined
  std::optional<std::int32_t> unk_;
  std::array<std::int32_t, 256>
      byte_ids_{};  // unit of one byte (bytes_), or of one ASCII character; -1: none
  std::array<std::int32_t, 256> fallback_{};  // <0xHH>
};

inline std::size_t Bpe::join_class(const char* p, std::size_t length) {
  if (length == 1) return static_cast<unsigned char>(*p);
  return length == 3 && p[0] == '\xE2' && p[1] == '\x96' && p[2] == '\x81' ? kMetaspace : kOther;
}

template <class Use>
void Bpe::cut(std::string_view text, Use&& use) const {
  std::size_t begin = 0;
  if (!joins_.empty()) {
    const char* const p = text.data();
    std::size_t at = utf8_length(*p);
    const std::uint8_t* joins = joins_.data() + join_class(p, at) * kJoinClasses;
    while (at < text.size()) {
      const std::size_t length = utf8_length(p[at]);
      const std::size_t next = join_class(p + at, length);
      if (joins[next] == 0) {
        use(text.substr(begin, at - begin));
        begin = at;
      }
      joins = joins_.data() + next * kJoinClasses;
      at += length;
    }
  }
  use(text.substr(begin));
}

std::unique_ptr<const Bpe> read_bpe(const JsonView& json, bool bytes);

}  // namespace bora::tokenize
