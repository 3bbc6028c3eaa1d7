// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A tokenizer from a SentencePiece ".model" file.
#include <fmt/core.h>

#include "bora/base/file.h"
#include "bora/tokenize/formats/sentencepiece.h"
#include "bora/tokenize/formats/sentencepiece_text.h"
#include "bora/tokenize/formats/tokenizer_files.h"

namespace bora::tokenize {

namespace {

/// Beginning and end as tokenizer_config.json asks for; SentencePiece itself adds neither.
PostProcessor ends_of(const SentencePieceFile& file, const FileConfig& config, std::int64_t vocab_size) {
  const auto& pieces = file.pieces.pieces;
  std::string single, pair, tokens;
  const auto special = [&](bool wanted, std::int32_t id, int type) -> std::string {
    if (!wanted || id < 0) return {};
    const std::string name = json_string(pieces[static_cast<std::size_t>(id)].text);
    const std::string entry = fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", name, id);
    if (tokens.find(entry) == std::string::npos) tokens += (tokens.empty() ? "" : ",") + entry;
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", name, type);
  };
  const bool bos = config.flag("add_bos_token", false), eos = config.flag("add_eos_token", false);
  if ((!bos || file.bos < 0) && (!eos || file.eos < 0)) return PostProcessor::read(std::nullopt, vocab_size);
  for (int text = 0; text < 2; ++text) {
    std::string part = special(bos, file.bos, text);
    if (!part.empty()) part += ',';
    part += fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", text == 0 ? "A" : "B", text);
    if (const std::string end = special(eos, file.eos, text); !end.empty()) part += "," + end;
    if (text == 0) single = part;
    pair += (pair.empty() ? "" : ",") + part;
  }
  return make_post_processor(
      fmt::format(R"({{"type":"TemplateProcessing","single":[{}],"pair":[{}],"special_tokens":{{{}}}}})",
                  single, pair, tokens),
      vocab_size);
}

}  // namespace

std::shared_ptr<Pipeline> read_sentencepiece_model(const TokenizerFiles& files, const FileConfig& config) {
  SentencePieceFile file = read_sentencepiece_file(read_text(files.main), files.main);
  const auto& pieces = file.pieces.pieces;
  std::vector<std::string> user_defined;
  SentencePieceDecoding decoding;
  decoding.add_dummy_prefix = file.rules.add_dummy_prefix;
  decoding.remove_extra_whitespaces = file.rules.remove_extra_whitespaces;
  decoding.unk_surface = file.unk_surface;
  decoding.bytes = file.pieces.byte_fallback;
  auto p = std::make_shared<Pipeline>();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    using Kind = SentencePieces::Kind;
    const auto& piece = pieces[id];
    if (piece.kind == Kind::UserDefined) user_defined.push_back(piece.text);
    if (piece.kind == Kind::Control) decoding.control.push_back(piece.text);
    if (piece.kind == Kind::Unknown) decoding.unk_piece = piece.text;
    if (piece.kind != Kind::Control && piece.kind != Kind::Unknown) continue;
    AddedToken token;
    token.id = static_cast<std::int32_t>(id);
    token.content = piece.text;
    token.special = true;
    p->added.add(std::move(token));
  }
  p->normalizer =
      sentencepiece_normalizer(file.rules, std::move(user_defined), files.main + ": precompiled_charsmap");
  p->decoder = sentencepiece_decoder(std::move(decoding));
  p->post_processor = ends_of(file, config, static_cast<std::int64_t>(pieces.size()));
  const auto name = [&](const char* key, std::int32_t id) {
    if (id >= 0) p->config[key] = pieces[static_cast<std::size_t>(id)].text;
  };
  name("bos_token", file.bos);
  name("eos_token", file.eos);
  name("pad_token", file.pad);
  p->model = std::make_unique<SentencePiece>(std::move(file.pieces), files.main);
  p->added.index(p->normalizer.get());
  return p;
}

}  // namespace bora::tokenize
