// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/bpe.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

Bpe::Bpe(BpeConfig config, Vocabulary vocabulary, std::vector<std::pair<std::int32_t, std::int32_t>> merges,
         bool bytes, std::string_view where)
    : config_(std::move(config)),
      vocabulary_(std::move(vocabulary)),
      merges_(std::move(merges)),
      pairs_(merges_.size()),
      plain_(config_.continuing_subword_prefix.empty() && config_.end_of_word_suffix.empty()) {
  read_merges(where);
  // One that is no token matters only where something is unknown; byte-level files have such names.
  if (!config_.unk_token.empty()) unk_ = vocabulary_.find(config_.unk_token);
  bytes_ = bytes && takes_raw_bytes();
  index_units();
  index_joins();
}

void Bpe::read_merges(std::string_view where) {
  const std::string& prefix = config_.continuing_subword_prefix;
  std::string joined;
  std::int32_t last = -1;
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right] = merges_[rank];
    std::string_view tail = vocabulary_.text(right);
    if (tail.size() < prefix.size()) {
      fail(ErrorKind::Corruption, "{}.merges[{}]: {} is shorter than the prefix {}", where, rank,
           json_string(tail), json_string(prefix));
    }
    tail.remove_prefix(prefix.size());
    joined = vocabulary_.text(left);
    joined += tail;
    // Most files give results ids in the order of their merges.
    const bool in_order = vocabulary_.has(last + 1) && vocabulary_.text(last + 1) == joined;
    const auto result = in_order ? std::optional(last + 1) : vocabulary_.find(joined);
    if (!result) {
      fail(ErrorKind::Corruption, "{}.merges[{}]: the result {} is not in the vocabulary", where, rank,
           json_string(joined));
    }
    const auto order = config_.rank_by_result ? static_cast<std::size_t>(*result) : rank;
    pairs_.set(left, right, static_cast<std::uint32_t>(order));
    if (order >= results_.size()) results_.resize(order + 1);
    results_[order] = last = *result;
  }
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
  if (!bytes_ || !plain_) return;
  for (const std::int32_t left : byte_ids_) {
    for (const std::int32_t right : byte_ids_) byte_pairs_.push_back(pairs_.find(left, right));
  }
}

/// Merges of the unknown token or of bytes, which stand for characters they do not spell.
bool Bpe::has_odd_merges() const {
  return std::any_of(merges_.begin(), merges_.end(), [this](const auto& merge) {
    const auto is_byte = [](std::string_view text) { return text.size() == 6 && text.starts_with("<0x"); };
    return merge.first == unk_ || merge.second == unk_ || is_byte(vocabulary_.text(merge.first)) ||
           is_byte(vocabulary_.text(merge.second));
  });
}

void Bpe::index_joins() {
  if (bytes_ || !plain_ || config_.ignore_merges || has_odd_merges()) return;
  const bool all_bytes =
      std::all_of(fallback_.begin(), fallback_.end(), [](std::int32_t id) { return id >= 0; });
  if (config_.byte_fallback && !all_bytes) return;  // unknowns are written late
  joins_.assign(kJoinClasses * kJoinClasses, 0);
  for (const auto& [left, right] : merges_) {
    const std::string_view head = vocabulary_.text(left), tail = vocabulary_.text(right);
    if (head.empty() || tail.empty()) continue;
    const std::size_t last = previous_start(head, head.size());
    joins_[join_class(head.data() + last, head.size() - last) * kJoinClasses +
           join_class(tail.data(), utf8_length(tail[0]))] = 1;
  }
  if (config_.byte_fallback) return;
  // Unknowns fuse; where there is no unknown token they vanish, and those around them meet.
  const auto unknown = [this](std::size_t kind) {
    return kind == kOther || (kind < 128 ? byte_ids_[kind] < 0 : !vocabulary_.find("\xE2\x96\x81"));
  };
  for (std::size_t a = 0; a < kJoinClasses; ++a) {
    for (std::size_t b = 0; b < kJoinClasses; ++b) {
      if (unk_ ? unknown(a) && unknown(b) : unknown(a) || unknown(b)) joins_[a * kJoinClasses + b] = 1;
    }
  }
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

bool Bpe::spells(std::string_view text, std::int32_t id) const {
  std::string letters(text);
  if (bytes_) {
    letters.clear();
    append_in_alphabet(letters, text);
  }
  for (const bool first : {true, false}) {
    for (const bool last : {true, false}) {
      if (vocabulary_.text(id) == spelled(letters, first, last)) return true;
    }
  }
  return false;
}

bool Bpe::byte_units(std::string_view unit, std::vector<Symbol>& out) const {
  for (const char b : unit) {
    if (fallback_[static_cast<unsigned char>(b)] < 0) return false;
  }
  for (const char b : unit) out.push_back({fallback_[static_cast<unsigned char>(b)], 1});
  return true;
}

void Bpe::units(std::string_view piece, std::vector<Symbol>& out) const {
  std::uint32_t unknown = 0;  // bytes of an unknown that is not yet written
  const auto flush = [&] {
    if (unknown > 0) out.push_back({*unk_, unknown});
    unknown = 0;
  };
  for (std::size_t i = 0; i < piece.size();) {
    const std::size_t n = bytes_ ? 1 : utf8_length(piece[i]);
    const std::string_view unit = piece.substr(i, n);
    const bool first = i == 0, last = i + n == piece.size();
    if (const auto id = unit_id(unit, first, last)) {
      flush();
      out.push_back({*id, static_cast<std::uint32_t>(n)});
    } else if (config_.byte_fallback && byte_units(plain_ ? unit : spelled(unit, first, last), out)) {
      // `tokenizers` does not write a pending unknown here either: it comes after these bytes.
    } else if (unk_) {
      if (!config_.fuse_unk) flush();
      unknown += static_cast<std::uint32_t>(n);
    } else if (!config_.unk_token.empty()) {
      fail(ErrorKind::InvalidArgument,
           "encode: {} is not in the vocabulary, and the model's (BPE) unk_token {} is no token",
           json_excerpt(unit), json_string(config_.unk_token));
    }
    i += n;
  }
  flush();
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
  std::vector<Symbol>& symbols = thread_symbols();
  units(piece, symbols);
  merge(symbols);
  const auto size = static_cast<std::uint32_t>(piece.size());
  std::uint32_t at = 0;
  for (const Symbol& s :
       symbols) {  // the bytes of a prefix or suffix have no place in the piece: its last one
    out.push_back({s.id, std::min(at, size - 1), std::min(at + s.bytes, size)});
    at += s.bytes;
  }
}

}  // namespace bora::tokenize
