// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/bpe.h"

#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "bora/base/error.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::size_t kScanLimit = 48;  // units; longer pieces are merged through a heap
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

}  // namespace

/// A unit, or what it has grown to. Symbols of a piece are a list: those merged away have no bytes.
struct Bpe::Symbol {
  std::int32_t id = 0;
  std::uint32_t bytes = 0;
  PairTable::Merge merge;                // with the symbol after it (scan)
  std::int32_t before = -1, after = -1;  // (heap)
};

Bpe::Bpe(BpeConfig config, Vocabulary vocabulary, std::vector<std::pair<std::int32_t, std::int32_t>> merges,
         bool bytes, std::string_view where)
    : config_(std::move(config)),
      vocabulary_(std::move(vocabulary)),
      merges_(std::move(merges)),
      pairs_(merges_.size()),
      plain_(config_.continuing_subword_prefix.empty() && config_.end_of_word_suffix.empty()) {
  const std::string& prefix = config_.continuing_subword_prefix;
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right] = merges_[rank];
    std::string_view tail = vocabulary_.text(right);
    if (tail.size() < prefix.size()) {
      fail(ErrorKind::Corruption, "{}.merges[{}]: {} is shorter than the prefix {}", where, rank,
           json_string(tail), json_string(prefix));
    }
    tail.remove_prefix(prefix.size());
    const std::string joined = fmt::format("{}{}", vocabulary_.text(left), tail);
    const auto result = vocabulary_.find(joined);
    if (!result) {
      fail(ErrorKind::Corruption, "{}.merges[{}]: the result {} is not in the vocabulary", where, rank,
           json_string(joined));
    }
    const auto order = config_.rank_by_result ? static_cast<std::size_t>(*result) : rank;
    pairs_.set(left, right, {static_cast<std::uint32_t>(order), *result});
  }
  // One that is no token matters only where something is unknown; byte-level files have such names.
  if (!config_.unk_token.empty()) unk_ = vocabulary_.find(config_.unk_token);
  bytes_ = bytes && takes_raw_bytes();
  index_units();
  cuts_at_metaspace_ = metaspace_is_safe();
}

/// Raw bytes can be told from their spelling only by what is unknown; so none may be.
bool Bpe::takes_raw_bytes() const {
  if (config_.byte_fallback) return false;
  for (const char32_t c : byte_alphabet()) {
    std::string unit;
    append_utf8(unit, c);
    for (const bool first : {true, false}) {
      for (const bool last : {true, false}) {
        if (!vocabulary_.find(spelled(unit, first, last))) return false;
      }
    }
  }
  return true;
}

std::string Bpe::spelled(std::string_view unit, bool first, bool last) const {
  std::string text;
  if (!first) text += config_.continuing_subword_prefix;
  text += unit;
  if (last) text += config_.end_of_word_suffix;
  return text;
}

void Bpe::index_units() {
  for (std::size_t b = 0; b < 256; ++b) {
    std::string unit;
    append_utf8(unit, bytes_ ? byte_alphabet()[b] : static_cast<char32_t>(b));
    byte_ids_[b] = vocabulary_.find(unit).value_or(-1);
    fallback_[b] = config_.byte_fallback ? vocabulary_.find(fmt::format("<0x{:02X}>", b)).value_or(-1) : -1;
  }
}

bool Bpe::metaspace_is_safe() const {
  // Cutting must not separate unknowns that fuse, nor what a merge joins: ▁ itself is known, so unknowns end
  // there.
  if (bytes_ || !plain_ || config_.ignore_merges || !vocabulary_.find(kMetaspace)) return false;
  for (const auto& [left, right] : merges_) {
    const std::string_view head = vocabulary_.text(left), tail = vocabulary_.text(right);
    if (left == unk_ || right == unk_) return false;
    if (tail.starts_with(kMetaspace) && !head.ends_with(kMetaspace)) return false;
    for (const auto text : {head, tail}) {
      if (text.size() == 6 && text.starts_with("<0x")) return false;
    }
  }
  return true;
}

std::optional<std::int32_t> Bpe::unit_id(std::string_view unit, bool first, bool last) const {
  if (plain_ && (bytes_ || unit.size() == 1)) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(unit[0])];
    return id >= 0 ? std::optional(id) : std::nullopt;
  }
  if (plain_) return vocabulary_.find(unit);
  std::string letters(unit);
  if (bytes_) {
    letters.clear();
    append_in_alphabet(letters, unit);
  }
  return vocabulary_.find(spelled(letters, first, last));
}

bool Bpe::byte_units(std::string_view unit, std::vector<Symbol>& out) const {
  for (const char b : unit) {
    if (fallback_[static_cast<unsigned char>(b)] < 0) return false;
  }
  for (const char b : unit) out.push_back({fallback_[static_cast<unsigned char>(b)], 1, {}, -1, -1});
  return true;
}

void Bpe::units(std::string_view piece, std::vector<Symbol>& out) const {
  std::uint32_t unknown = 0;  // bytes of an unknown that is not yet written
  const auto flush = [&] {
    if (unknown > 0) out.push_back({*unk_, unknown, {}, -1, -1});
    unknown = 0;
  };
  for (std::size_t i = 0; i < piece.size();) {
    const std::size_t n = bytes_ ? 1 : utf8_length(piece[i]);
    const std::string_view unit = piece.substr(i, n);
    const bool first = i == 0, last = i + n == piece.size();
    if (const auto id = unit_id(unit, first, last)) {
      flush();
      out.push_back({*id, static_cast<std::uint32_t>(n), {}, -1, -1});
    } else if (config_.byte_fallback && byte_units(plain_ ? unit : spelled(unit, first, last), out)) {
      // `tokenizers` does not write a pending unknown here either: it comes after these bytes.
    } else if (unk_) {
      if (!config_.fuse_unk) flush();
      unknown += static_cast<std::uint32_t>(n);
    }
    i += n;
  }
  flush();
}

void Bpe::merge_by_scan(std::vector<Symbol>& symbols) const {
  std::size_t n = symbols.size();
  for (std::size_t i = 0; i + 1 < n; ++i) symbols[i].merge = pairs_.find(symbols[i].id, symbols[i + 1].id);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (symbols[i].merge.rank < symbols[best].merge.rank) best = i;
    }
    if (symbols[best].merge.rank == PairTable::kNoRank) break;
    symbols[best].id = symbols[best].merge.result;
    symbols[best].bytes += symbols[best + 1].bytes;
    std::move(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(n),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    if (best > 0) symbols[best - 1].merge = pairs_.find(symbols[best - 1].id, symbols[best].id);
    symbols[best].merge =
        best + 1 < n ? pairs_.find(symbols[best].id, symbols[best + 1].id) : PairTable::Merge{};
  }
  symbols.resize(n);
}

void Bpe::merge_by_heap(std::vector<Symbol>& symbols) const {
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left;
    std::int32_t result;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
  };
  std::vector<Candidate> found;
  const auto n = static_cast<std::int32_t>(symbols.size());
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  for (std::int32_t i = 0; i < n; ++i) {
    at(i).before = i - 1;
    at(i).after = i + 1 < n ? i + 1 : -1;
    if (i + 1 == n) break;
    const auto merge = pairs_.find(at(i).id, at(i + 1).id);
    if (merge.rank != PairTable::kNoRank) found.push_back({merge.rank, i, merge.result});
  }
  std::priority_queue<Candidate> heap(std::less<Candidate>{}, std::move(found));
  const auto consider = [&](std::int32_t i) {
    if (i < 0 || at(i).after < 0) return;
    const auto merge = pairs_.find(at(i).id, at(at(i).after).id);
    if (merge.rank != PairTable::kNoRank) heap.push({merge.rank, i, merge.result});
  };
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    Symbol& left = at(top.left);
    if (left.bytes == 0 || left.after < 0) continue;
    Symbol& right = at(left.after);
    if (pairs_.find(left.id, right.id).result != top.result) continue;  // changed since it was queued
    left.id = top.result;
    left.bytes += right.bytes;
    right.bytes = 0;
    left.after = right.after;
    if (left.after >= 0) at(left.after).before = top.left;
    consider(left.before);
    consider(top.left);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.bytes == 0; });
}

std::optional<std::int32_t> Bpe::find_piece(std::string_view piece) const {
  if (!bytes_) return vocabulary_.find(piece);
  std::string text;
  append_in_alphabet(text, piece);
  return vocabulary_.find(text);
}

void Bpe::tokenize(std::string_view piece, std::vector<Token>& out) const {
  if (config_.ignore_merges) {
    if (const auto id = find_piece(piece)) {
      out.push_back({*id, 0, static_cast<std::uint32_t>(piece.size())});
      return;
    }
  }
  thread_local std::vector<Symbol> symbols;
  symbols.clear();
  units(piece, symbols);
  if (symbols.size() <= kScanLimit)
    merge_by_scan(symbols);
  else
    merge_by_heap(symbols);
  const auto size = static_cast<std::uint32_t>(piece.size());
  std::uint32_t at = 0;
  for (const Symbol& s :
       symbols) {  // the bytes of a prefix or suffix have no place in the piece: its last one
    out.push_back({s.id, std::min(at, size - 1), std::min(at + s.bytes, size)});
    at += s.bytes;
  }
  if (symbols.capacity() > (std::size_t{1} << 20)) symbols = {};
}

}  // namespace bora::tokenize
