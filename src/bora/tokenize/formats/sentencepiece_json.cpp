// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// "model" of tokenizer.json for what was read from a SentencePiece file, which only Bora reads:
//   {"type": "SentencePiece", "algorithm": "Unigram" | "BPE" | "Word" | "Char", "byte_fallback": BOOL,
//    "pieces": [[TEXT, SCORE, KIND], ...]}       by id; KIND as in sentencepiece_model.proto, 1 to 6
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "bora/tokenize/formats/sentencepiece.h"

namespace bora::tokenize {

namespace {

constexpr std::array<std::string_view, 4> kAlgorithms = {"Unigram", "BPE", "Word", "Char"};

SentencePieces::Piece read_json_piece(const JsonView& json) {
  SentencePieces::Piece piece;
  std::size_t n = 0;
  json.each_item([&](const JsonView& member) {
    if (n == 0) piece.text = member.string();
    if (n == 1) piece.score = static_cast<float>(member.number());
    if (n == 2) {
      if (member.integer() < 1 || member.integer() > 6) member.bad("should be a kind of piece, 1 to 6");
      piece.kind = static_cast<SentencePieces::Kind>(member.integer());
    }
    ++n;
  });
  if (n != 3) json.bad(fmt::format("should be a piece, its score and kind but has {} members", n));
  if (piece.text.empty()) json.bad("has no text");
  if (!std::isfinite(piece.score)) json.bad("has a score that no float holds");
  return piece;
}

}  // namespace

void SentencePiece::write(std::string& out) const {
  out += fmt::format(R"({{"type":"SentencePiece","algorithm":"{}","byte_fallback":{},"pieces":[)",
                     kAlgorithms[static_cast<std::size_t>(pieces_.algorithm) - 1], pieces_.byte_fallback);
  for (std::size_t i = 0; i < pieces_.pieces.size(); ++i) {
    const auto& piece = pieces_.pieces[i];
    out += i > 0 ? ",[" : "[";
    append_json_string(out, piece.text);
    out += fmt::format(",{},{}]", piece.score, static_cast<int>(piece.kind));
  }
  out += "]}";
}

std::unique_ptr<const Model> read_sentencepiece(const JsonView& json) {
  SentencePieces pieces;
  const JsonView algorithm = json.at("algorithm");
  std::size_t which = 0;
  while (which < kAlgorithms.size() && kAlgorithms[which] != algorithm.string()) ++which;
  if (which == kAlgorithms.size()) algorithm.bad("should be \"Unigram\", \"BPE\", \"Word\" or \"Char\"");
  pieces.algorithm = static_cast<SentencePieces::Algorithm>(which + 1);
  pieces.byte_fallback = json.at("byte_fallback").boolean();
  json.at("pieces").each_item([&](const JsonView& item) { pieces.pieces.push_back(read_json_piece(item)); });
  return std::make_unique<SentencePiece>(std::move(pieces), json.where());
}

}  // namespace bora::tokenize
