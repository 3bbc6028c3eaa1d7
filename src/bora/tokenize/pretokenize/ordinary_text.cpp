// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/pretokenize/ordinary_text.h"

#include <algorithm>

#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

void append_ordinary(const Pipeline& p, std::string_view piece, std::uint32_t at, std::vector<Token>& out);

/// `text`, a special token's spelling, stands at byte `at` of the piece.
void append_apart(const Pipeline& p, std::string_view text, std::uint32_t at, std::vector<Token>& out) {
  std::uint32_t first = 1;
  while (first < text.size() && is_continuation(text[first])) ++first;
  if (first < text.size()) {
    append_ordinary(p, text.substr(0, first), at, out);
    append_ordinary(p, text.substr(first), at + first, out);
  } else if (const auto unk = p.model->unk_id()) {
    out.push_back({*unk, at, at + static_cast<std::uint32_t>(text.size())});
  }
}

/// A special token that the text spells: not a byte of an unknown character, which may be listed as special, too,
/// and of which several share one text.
bool is_spelled_control(const Pipeline& p, std::string_view text, std::int32_t id) {
  return p.control[static_cast<std::size_t>(id)] && p.model->spells(text, id);
}

void append_ordinary(const Pipeline& p, std::string_view piece, std::uint32_t at, std::vector<Token>& out) {
  std::vector<Token> tokens;
  p.model->tokenize(piece, tokens);
  for (const Token& t : tokens) {
    const std::string_view text = piece.substr(t.begin, t.end - t.begin);
    if (is_spelled_control(p, text, t.id))
      append_apart(p, text, at + t.begin, out);
    else
      out.push_back({t.id, at + t.begin, at + t.end});
  }
}

/// Joins neighbouring unknowns from token `first` on.
void fuse_unknowns(std::int32_t unk, std::size_t first, std::vector<Token>& tokens) {
  std::size_t kept = first;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    if (kept > first && tokens[i].id == unk && tokens[kept - 1].id == unk)
      tokens[kept - 1].end = tokens[i].end;
    else
      tokens[kept++] = tokens[i];
  }
  tokens.resize(kept);
}

}  // namespace

void tokenize_piece(const Pipeline& p, SpecialInText in_text, std::string_view piece,
                    std::vector<Token>& out) {
  const std::size_t before = out.size();
  p.model->tokenize(piece, out);
  if (in_text == SpecialInText::Recognised) return;
  const auto is_control = [&](const Token& t) { return p.control[static_cast<std::size_t>(t.id)]; };
  if (std::none_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), is_control)) return;
  out.resize(before);
  append_ordinary(p, piece, 0, out);
  if (p.model->fuses_unknowns()) fuse_unknowns(*p.model->unk_id(), before, out);
}

}  // namespace bora::tokenize
