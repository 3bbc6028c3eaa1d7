// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/wordpiece.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// The pieces that start with `prefix`, without it.
ByteTrie index_words(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<ByteTrie::Key> keys;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id)) continue;
    const std::string_view text = vocabulary.text(id);
    if (text.starts_with(prefix)) keys.emplace_back(text.substr(prefix.size()), id);
  }
  return ByteTrie(std::move(keys));
}

/// More than `limit` characters.
bool is_longer(std::string_view text, std::int64_t limit) {
  if (static_cast<std::int64_t>(text.size()) <= limit) return false;
  std::int64_t characters = 0;
  for (const char c : text) characters += is_continuation(c) ? 0 : 1;
  return characters > limit;
}

}  // namespace

WordPiece::WordPiece(WordPieceConfig config, Vocabulary vocabulary)
    : config_(std::move(config)),
      vocabulary_(std::move(vocabulary)),
      first_(index_words(vocabulary_, "")),
      inside_(index_words(vocabulary_, config_.continuing_subword_prefix)),
      unk_(vocabulary_.find(config_.unk_token)) {}

void WordPiece::tokenize(std::string_view piece, std::vector<Token>& out) const {
  const std::size_t before = out.size();
  bool known = !is_longer(piece, config_.max_input_chars_per_word);
  for (std::size_t begin = 0; known && begin < piece.size();) {
    const auto match = (begin == 0 ? first_ : inside_).longest(piece.substr(begin));
    known = match.value >= 0;
    out.push_back(
        {match.value, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + match.size)});
    begin += match.size;
  }
  if (known) return;
  if (!unk_) {
    fail(ErrorKind::InvalidArgument,
         "encode: no pieces of the vocabulary make up {}, and the model's (WordPiece) unk_token {} is no "
         "token",
         json_excerpt(piece), json_string(config_.unk_token));
  }
  out.resize(before);
  out.push_back({*unk_, 0, static_cast<std::uint32_t>(piece.size())});
}

bool WordPiece::spells(std::string_view text, std::int32_t id) const {
  const std::string_view token = vocabulary_.text(id);
  return token == text || token == config_.continuing_subword_prefix + std::string(text);
}

void WordPiece::write(std::string& out) const {
  out += fmt::format(
      R"({{"type":"WordPiece","unk_token":{},"continuing_subword_prefix":{},"max_input_chars_per_word":{})",
      json_string(config_.unk_token), json_string(config_.continuing_subword_prefix),
      config_.max_input_chars_per_word);
  out += ",\"vocab\":";
  vocabulary_.write(out);
  out += '}';
}

std::unique_ptr<const Model> read_wordpiece(const JsonView& json) {
  WordPieceConfig config;
  config.unk_token = json.at("unk_token").string();
  config.continuing_subword_prefix = json.at("continuing_subword_prefix").string();
  const JsonView limit = json.at("max_input_chars_per_word");
  config.max_input_chars_per_word = limit.integer();
  if (limit.integer() < 0) limit.bad(fmt::format("is {}; it should be 0 or more", limit.integer()));
  return std::make_unique<WordPiece>(std::move(config), Vocabulary::read(json.at("vocab")));
}

}  // namespace bora::tokenize
