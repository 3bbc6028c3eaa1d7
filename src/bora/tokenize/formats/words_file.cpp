// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// vocab.txt has one piece a line; its id is the number of the line, from 0. White space at the end of a line
// is no part of the piece.
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/formats/tokenizer_files.h"
#include "bora/tokenize/models/wordpiece.h"
#include "bora/tokenize/normalize/bert_normalizer.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

void check_class(const FileConfig& config) {
  std::string name = config.text("tokenizer_class", "BertTokenizer");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  for (const char* known : {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
                            "PreTrainedTokenizer", "TokenizersBackend"}) {
    if (name == known) return;
  }
  fail(ErrorKind::Unsupported,
       "{}: tokenizer_class {} is not supported for vocab.txt; Bora knows those of BERT, DistilBERT, "
       "MobileBERT "
       "and ELECTRA\nhint: save the tokenizer as tokenizer.json",
       config.name(), json_string(name));
}

Vocabulary read_words(const std::string& path) {
  const std::string text = read_text(path);
  if (!is_valid_utf8(text)) fail(ErrorKind::Corruption, "{}: is not UTF-8", path);
  Vocabulary vocabulary;
  std::int32_t id = 0;
  for (std::size_t begin = 0; begin < text.size(); ++id) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t next = end + 1;
    while (end > begin) {
      const std::size_t last = previous_start(text, end);
      if (!is_white_space(code_point_at(text.data() + last).value)) break;
      end = last;
    }
    if (id >= Vocabulary::kMaxIds) fail(ErrorKind::Corruption, "{}: more than {} lines", path, id);
    vocabulary.put(std::string_view(text).substr(begin, end - begin), id);
    begin = next;
  }
  return vocabulary;
}

std::string post_processor(const Pipeline& p, const FileConfig& config) {
  const auto token = [&](std::string_view key, std::string_view otherwise) {
    const std::string text = config.token(key).value_or(std::string(otherwise));
    const auto id = p.id_of(text);
    if (!id)
      fail(ErrorKind::Corruption, "{}: {} is {}, which is not in the vocabulary", config.name(), key,
           json_string(text));
    return std::pair{json_string(text), *id};
  };
  const auto [cls, cls_id] = token("cls_token", "[CLS]");
  const auto [sep, sep_id] = token("sep_token", "[SEP]");
  const auto special = [](std::string_view text, int type) {
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", text, type);
  };
  const std::string single =
      fmt::format(R"({},{{"Sequence":{{"id":"A","type_id":0}}}},{})", special(cls, 0), special(sep, 0));
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},{{"Sequence":{{"id":"B","type_id":1}}}},{1}],)"
      R"("special_tokens":{{{2}:{{"id":{2},"ids":[{3}],"tokens":[{2}]}},{4}:{{"id":{4},"ids":[{5}],)"
      R"("tokens":[{4}]}}}}}})",
      single, special(sep, 1), cls, cls_id, sep, sep_id);
}

}  // namespace

std::shared_ptr<Pipeline> read_words_file(const TokenizerFiles& files, const FileConfig& config) {
  check_class(config);
  auto p = std::make_shared<Pipeline>();
  BertNormalizerConfig normalizer;
  normalizer.lowercase = config.flag("do_lower_case", true);
  normalizer.handle_chinese_chars = config.flag("tokenize_chinese_chars", true);
  if (const auto strip = config.json().find("strip_accents");
      strip != config.json().end() && !strip->is_null()) {
    normalizer.strip_accents = config.flag("strip_accents", true);
  }
  p->normalizer = bert_normalizer(normalizer);
  p->pre_tokenizer = make_pre_tokenizer(R"({"type":"BertPreTokenizer"})");
  WordPieceConfig model;
  model.unk_token = config.token("unk_token").value_or("[UNK]");
  p->model = std::make_unique<WordPiece>(std::move(model), read_words(files.main));
  p->decoder = make_decoder(R"({"type":"WordPiece","prefix":"##","cleanup":true})");
  add_special_tokens(*p, config,
                     {{"unk_token", "[UNK]"},
                      {"sep_token", "[SEP]"},
                      {"pad_token", "[PAD]"},
                      {"cls_token", "[CLS]"},
                      {"mask_token", "[MASK]"}});
  p->post_processor = make_post_processor(post_processor(*p, config), p->vocab_size());
  return p;
}

}  // namespace bora::tokenize
