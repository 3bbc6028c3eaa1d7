// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/formats/sentencepiece.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr float kUnkPenalty = 10;
constexpr double kUserDefinedMalus = 0.1;
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

using Kind = SentencePieces::Kind;

/// Pieces that a text can be cut into; the others have names only.
bool is_ordinary(Kind kind) {
  return kind == Kind::Normal || kind == Kind::UserDefined || kind == Kind::Unused;
}

template <class Wanted>
ByteTrie index_pieces(const SentencePieces& pieces, Wanted&& wanted) {
  std::vector<ByteTrie::Key> keys;
  for (std::size_t id = 0; id < pieces.pieces.size(); ++id) {
    if (wanted(pieces.pieces[id].kind))
      keys.emplace_back(pieces.pieces[id].text, static_cast<std::int32_t>(id));
  }
  return ByteTrie(std::move(keys));
}

}  // namespace

SentencePiece::SentencePiece(SentencePieces pieces, std::string_view where)
    : pieces_(std::move(pieces)),
      trie_(index_pieces(pieces_, is_ordinary)),
      user_defined_(index_pieces(pieces_, [](Kind kind) { return kind == Kind::UserDefined; })) {
  check(where);
  float lowest = std::numeric_limits<float>::max();
  max_score_ = std::numeric_limits<float>::min();
  bool cut = pieces_.algorithm == SentencePieces::Algorithm::Bpe && trie_.longest(kMetaspace).value >= 0;
  for (const auto& piece : pieces_.pieces) {
    if (piece.kind == Kind::Normal) {
      lowest = std::min(lowest, piece.score);
      max_score_ = std::max(max_score_, piece.score);
    }
    has_unused_ |= piece.kind == Kind::Unused;
    if (!is_ordinary(piece.kind)) continue;
    const std::size_t first = std::min(piece.text.find_first_not_of(kMetaspace), piece.text.size());
    cut &= piece.text.find(kMetaspace, first / kMetaspace.size() * kMetaspace.size()) == std::string::npos;
  }
  cuts_ = cut;
  unk_score_ = lowest - kUnkPenalty;
}

void SentencePiece::check(std::string_view where) {
  unk_ = -1;
  bytes_.fill(-1);
  for (std::size_t i = 0; i < pieces_.pieces.size(); ++i) {
    const auto& piece = pieces_.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    if (!vocabulary_.add(piece.text, id)) {
      fail(ErrorKind::Corruption, "{}: pieces[{}]: {} is also piece {}", where, i, json_string(piece.text),
           *vocabulary_.find(piece.text));
    }
    if (piece.kind == Kind::Unknown) {
      if (unk_ >= 0) fail(ErrorKind::Corruption, "{}: pieces[{}]: a second unknown piece", where, i);
      unk_ = id;
    }
    if (piece.kind == Kind::Byte && !pieces_.byte_fallback) {
      fail(ErrorKind::Corruption, "{}: pieces[{}]: a byte, but there is no byte_fallback", where, i);
    }
  }
  if (unk_ < 0) fail(ErrorKind::Corruption, "{}: no piece is the unknown one", where);
  for (std::size_t b = 0; pieces_.byte_fallback && b < 256; ++b) {
    const std::string name = fmt::format("<0x{:02X}>", b);
    const auto id = vocabulary_.find(name);
    if (!id || kind(*id) != Kind::Byte) {
      fail(ErrorKind::Corruption, "{}: byte_fallback, but there is no piece for the byte {}", where, name);
    }
    bytes_[b] = *id;
  }
}

void SentencePiece::append(std::string_view text, Token token, bool& after_unknown,
                           std::vector<Token>& out) const {
  const bool unknown = token.id == unk_;
  if (unknown && pieces_.byte_fallback) {
    for (const char b : text.substr(token.begin, token.end - token.begin)) {
      out.push_back({bytes_[static_cast<unsigned char>(b)], token.begin, token.end});
    }
  } else if (unknown && after_unknown) {
    out.back().end = token.end;
  } else {
    out.push_back(token);
  }
  after_unknown = unknown;
}

void SentencePiece::unigram(std::string_view text, std::vector<Token>& out) const {
  struct Best {
    float score = 0;
    std::uint32_t begin = std::numeric_limits<std::uint32_t>::max();
    std::int32_t id = -1;
  };
  thread_local std::vector<Best> best;
  best.assign(text.size() + 1, {});
  // Sums are compared in double precision where the library does so, and kept in single.
  const auto consider = [&](Best& at, auto score, std::size_t begin, std::int32_t id) {
    if (at.id >= 0 && !(score > at.score)) return;
    at = {static_cast<float>(score), static_cast<std::uint32_t>(begin), id};
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t length = utf8_length(text[begin]);
    const float so_far = best[begin].score;
    bool alone = false;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t end = begin; end < text.size() && trie_.step(node, text[end]);) {
      ++end;
      const std::int32_t id = trie_.value(node);
      if (id < 0 || kind(id) == Kind::Unused) continue;
      const double score = kind(id) == Kind::UserDefined
                               ? static_cast<float>(end - begin) * max_score_ - kUserDefinedMalus
                               : static_cast<double>(this->score(id));
      consider(best[end], score + so_far, begin, id);
      alone |= end - begin == length;
    }
    if (!alone) consider(best[begin + length], unk_score_ + so_far, begin, unk_);
    begin += length;
  }
  thread_local std::vector<Token> reversed;
  reversed.clear();
  for (auto end = static_cast<std::uint32_t>(text.size()); end > 0; end = best[end].begin) {
    reversed.push_back({best[end].id, best[end].begin, end});
  }
  bool after_unknown = false;
  for (auto token = reversed.rbegin(); token != reversed.rend(); ++token)
    append(text, *token, after_unknown, out);
  if (best.capacity() > (std::size_t{1} << 20)) best = {};
}

void SentencePiece::words(std::string_view text, std::vector<Token>& out) const {
  bool after_unknown = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(kMetaspace, begin + utf8_length(text[begin])), text.size());
    append(text,
           {id_of(text.substr(begin, end - begin)), static_cast<std::uint32_t>(begin),
            static_cast<std::uint32_t>(end)},
           after_unknown, out);
    begin = end;
  }
}

void SentencePiece::characters(std::string_view text, std::vector<Token>& out) const {
  bool after_unknown = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto whole = user_defined_.longest(text.substr(begin));
    const std::size_t end = begin + (whole.size > 0 ? whole.size : utf8_length(text[begin]));
    append(text,
           {id_of(text.substr(begin, end - begin)), static_cast<std::uint32_t>(begin),
            static_cast<std::uint32_t>(end)},
           after_unknown, out);
    begin = end;
  }
}

std::int32_t SentencePiece::id_of(std::string_view text) const {
  return vocabulary_.find(text).value_or(unk_);
}

void SentencePiece::tokenize(std::string_view piece, std::vector<Token>& out) const {
  switch (pieces_.algorithm) {
    case SentencePieces::Algorithm::Unigram:
      return unigram(piece, out);
    case SentencePieces::Algorithm::Bpe:
      return bpe(piece, out);
    case SentencePieces::Algorithm::Word:
      return words(piece, out);
    case SentencePieces::Algorithm::Char:
      return characters(piece, out);
  }
}

std::string_view SentencePiece::text_of(const Token& token, std::string_view piece) const {
  return token.id == unk_ ? piece.substr(token.begin, token.end - token.begin) : vocabulary_.text(token.id);
}

}  // namespace bora::tokenize
