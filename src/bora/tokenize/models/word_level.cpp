// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/word_level.h"

#include <fmt/core.h>

#include <utility>

#include "bora/base/error.h"

namespace bora::tokenize {

WordLevel::WordLevel(std::string unk_token, Vocabulary vocabulary)
    : unk_token_(std::move(unk_token)),
      vocabulary_(std::move(vocabulary)),
      unk_(vocabulary_.find(unk_token_)) {}

void WordLevel::tokenize(std::string_view piece, std::vector<Token>& out) const {
  auto id = vocabulary_.find(piece);
  if (!id) id = unk_;
  if (!id) {
    fail(ErrorKind::InvalidArgument,
         "encode: {} is not in the vocabulary, and the model's (WordLevel) unk_token {} is no token",
         json_excerpt(piece), json_string(unk_token_));
  }
  out.push_back({*id, 0, static_cast<std::uint32_t>(piece.size())});
}

void WordLevel::write(std::string& out) const {
  out += R"({"type":"WordLevel","vocab":)";
  vocabulary_.write(out);
  out += fmt::format(",\"unk_token\":{}}}", json_string(unk_token_));
}

std::unique_ptr<const Model> read_word_level(const JsonView& json) {
  std::string unk(json.at("unk_token").string());
  return std::make_unique<WordLevel>(std::move(unk), Vocabulary::read(json.at("vocab")));
}

}  // namespace bora::tokenize
