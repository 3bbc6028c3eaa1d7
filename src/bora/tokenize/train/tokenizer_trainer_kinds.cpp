// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/json_view.h"
#include "bora/base/text.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

bool is_byte_name(std::string_view text) {
  for (int b = 0; b < 256; ++b) {
    if (text == byte_name(b)) return true;
  }
  return false;
}

std::string added_tokens(const std::vector<std::string>& special) {
  std::string out = "[";
  for (std::size_t id = 0; id < special.size(); ++id) {
    out += fmt::format(
        R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
        R"("special":true}})",
        id > 0 ? "," : "", id, json_string(special[id]));
  }
  return out + "]";
}

std::int64_t position(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) - texts.begin();
}

}  // namespace

std::vector<std::string> special_tokens(std::string_view who, std::vector<std::string> of_kind,
                                        const TokenizerTrainerConfig& config) {
  std::vector<std::string> all = std::move(of_kind);
  all.insert(all.end(), config.more_special_tokens.begin(), config.more_special_tokens.end());
  for (const std::string& token : all) {
    const char* problem = token.empty()                                   ? "empty"
                          : !is_valid_utf8(token)                         ? "not UTF-8"
                          : std::count(all.begin(), all.end(), token) > 1 ? "given twice"
                          : is_byte_name(token)                           ? "the name of a byte"
                          : token.size() == utf8_length(token[0])         ? "a single character"
                                                                          : nullptr;
    if (problem != nullptr) {
      fail(ErrorKind::InvalidArgument, "{}: special token {} is {}", who, json_string(token), problem);
    }
  }
  return all;
}

TrainingWords training_words(std::string_view who, const DocumentSource& documents,
                             const TokenizerTrainerConfig& config, const WordSplitter& split) {
  if (!(config.character_coverage > 0 && config.character_coverage <= 1)) {
    fail(ErrorKind::InvalidArgument,
         "{}: character_coverage is {}; it should be above 0 and at most 1\nhint: 0.9995, or 1 for a text of "
         "few characters",
         who, config.character_coverage);
  }
  TrainingWords training;
  training.counts = count_words(documents, split, config.threads, training.text_bytes);
  if (training.counts.size() == 0) {
    fail(ErrorKind::InvalidArgument, "{}: there is no text: every document is empty, or there is none", who);
  }
  training.words = training.counts.sorted();
  training.alphabet = Alphabet(training.words, config.character_coverage);
  return training;
}

void check_vocab_size(std::string_view who, std::int64_t vocab_size, std::int64_t least,
                      std::string_view parts) {
  if (vocab_size >= least && vocab_size <= Vocabulary::kMaxIds) return;
  fail(ErrorKind::InvalidArgument,
       "{}: vocab_size is {}; {} need {} at least, and {} is the most\nhint: 4,096 to 50,000 are common", who,
       vocab_size, parts, least, Vocabulary::kMaxIds);
}

void split_metaspace(std::string_view part, bool begins, WordCounts& counts) {
  constexpr std::string_view kSpace = "▁";
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) counts.add(word);
    word.clear();
  };
  if (begins) word = kSpace;
  for (std::size_t i = 0; i < part.size();) {
    const std::size_t n = part[i] == ' ' ? 1 : part.substr(i).starts_with(kSpace) ? kSpace.size() : 0;
    if (n > 0) {
      flush();
      word = kSpace;
      i += n;
    } else if (part[i] == '\n') {
      flush();
      for (; i < part.size() && part[i] == '\n'; ++i) word += '\n';
      flush();
    } else {
      word += part[i++];
    }
  }
  flush();
}

std::string metaspace_json(const std::vector<std::string>& special, std::string_view model) {
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added_tokens(special) +
         R"(,"normalizer":{"type":"Prepend","prepend":"▁"},"pre_tokenizer":{"type":"Sequence",)"
         R"("pretokenizers":[{"type":"Split","pattern":{"String":"\n"},"behavior":"Contiguous",)"
         R"("invert":false},{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}]},)"
         R"("post_processor":null,"decoder":{"type":"Sequence","decoders":[)"
         R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},)"
         R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},"model":)" +
         std::string(model) + "}";
}

std::string bert_json(const std::vector<std::string>& special, std::string_view model) {
  const auto cls = position(special, "[CLS]"), sep = position(special, "[SEP]");
  const auto piece = [](std::string_view token, int type) {
    return fmt::format(R"({{"SpecialToken":{{"id":"{}","type_id":{}}}}})", token, type);
  };
  const auto text = [](std::string_view name, int type) {
    return fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, type);
  };
  const std::string single = piece("[CLS]", 0) + "," + text("A", 0) + "," + piece("[SEP]", 0);
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":)"
      R"({{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,)"
      R"("lowercase":true}},"pre_tokenizer":{{"type":"BertPreTokenizer"}},"post_processor":)"
      R"({{"type":"TemplateProcessing","single":[{}],"pair":[{},{},{}],"special_tokens":{{)"
      R"("[CLS]":{{"id":"[CLS]","ids":[{}],"tokens":["[CLS]"]}},)"
      R"("[SEP]":{{"id":"[SEP]","ids":[{}],"tokens":["[SEP]"]}}}}}},)"
      R"("decoder":{{"type":"WordPiece","prefix":"##","cleanup":true}},"model":{}}})",
      added_tokens(special), single, single, text("B", 1), piece("[SEP]", 1), cls, sep, model);
}

}  // namespace bora::tokenize
