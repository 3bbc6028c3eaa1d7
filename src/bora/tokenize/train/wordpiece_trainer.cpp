// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/json_view.h"
#include "bora/tokenize/models/wordpiece.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/pretokenize/pre_tokenizer.h"
#include "bora/tokenize/train/bpe_trainer_merges.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kWordpieceWho = "train_tokenizer: wordpiece";
constexpr std::string_view kContinuingPrefix = "##";

/// As the file that bert_json() writes.
class BertSplitter {
 public:
  BertSplitter()
      : document_(bert_json({"[CLS]", "[SEP]"}, "null"), "BERT"),
        normalizer_(read_normalizer(document_.root().at("normalizer"))),
        pre_tokenizer_(read_pre_tokenizer(document_.root().at("pre_tokenizer"))) {}

  void split(std::string_view part, WordCounts& counts) const {
    AlignedText text(part, 0, false);
    normalizer_->apply(text);
    const std::size_t size = text.text().size();
    PreText pre{std::move(text), {{0, size}}};
    pre_tokenizer_->apply(pre, true);
    for (const ByteRange& r : pre.pieces) {
      counts.add(std::string_view(pre.text.text()).substr(r.begin, r.size()));
    }
  }

 private:
  JsonDocument document_;
  std::unique_ptr<const Normalizer> normalizer_;
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;
};

/// The ids of characters, at the start of a word and behind it; -1: none.
struct Units {
  std::vector<std::int32_t> first, inside;  // by position in the alphabet
};

/// Calls visit(position in the alphabet, whether the character begins the word). Words with a character
/// outside the alphabet are left out: they are unknown as a whole.
template <class Visit, class Done>
void each_unit(const TrainingWords& training, Visit&& visit, Done&& done) {
  for (const auto& word : training.words) {
    bool known = true;
    for (std::size_t i = 0; known && i < word.text.size();) {
      const CodePoint c = code_point_at(word.text.data() + i);
      known = training.alphabet.index(c.value) >= 0;
      i += c.length;
    }
    if (!known) continue;
    for (std::size_t i = 0; i < word.text.size();) {
      const CodePoint c = code_point_at(word.text.data() + i);
      visit(static_cast<std::size_t>(training.alphabet.index(c.value)), i == 0);
      i += c.length;
    }
    done(word.count);
  }
}

/// Special tokens, the alphabet by code point, and again with ## where it continues words.
Units first_units(const std::vector<std::string>& special, const TrainingWords& training,
                  Vocabulary& vocabulary) {
  std::int32_t id = 0;
  for (const std::string& token : special) vocabulary.add(token, id++);
  const auto& characters = training.alphabet.characters();
  Units units{std::vector<std::int32_t>(characters.size()), std::vector<std::int32_t>(characters.size(), -1)};
  each_unit(
      training, [&](std::size_t i, bool first) { units.inside[i] = first ? units.inside[i] : 0; },
      [](std::int64_t) {});
  for (std::size_t i = 0; i < characters.size(); ++i) {
    std::string text;
    append_utf8(text, characters[i]);
    vocabulary.add(text, units.first[i] = id++);
  }
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (units.inside[i] < 0) continue;
    std::string text(kContinuingPrefix);
    append_utf8(text, characters[i]);
    vocabulary.add(text, units.inside[i] = id++);
  }
  return units;
}

void add_unit_words(const TrainingWords& training, const Units& units, MergeLearner& learner) {
  std::vector<std::int32_t> ids;
  each_unit(
      training, [&](std::size_t i, bool first) { ids.push_back(first ? units.first[i] : units.inside[i]); },
      [&](std::int64_t count) {
        learner.add_word(ids, count);
        ids.clear();
      });
  learner.start();
}

}  // namespace

TrainedTokenizer train_wordpiece(const DocumentSource& documents, const TokenizerTrainerConfig& config) {
  const auto special = special_tokens(kWordpieceWho, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, config);
  const BertSplitter splitter;
  const TrainingWords training =
      training_words(kWordpieceWho, documents, config,
                     [&](std::string_view part, bool, WordCounts& counts) { splitter.split(part, counts); });
  GrownVocabulary grown;
  const Units units = first_units(special, training, grown.vocabulary);
  const std::int64_t inside =
      grown.vocabulary.size() - static_cast<std::int64_t>(special.size()) - training.alphabet.size();
  check_vocab_size(kWordpieceWho, config.vocab_size, grown.vocabulary.size(),
                   fmt::format("{} special tokens, {} characters and {} that continue words", special.size(),
                               training.alphabet.size(), inside));
  MergeLearner learner;
  add_unit_words(training, units, learner);
  std::string warning = learn_merges(grown, learner,
                                     {config.vocab_size, config.min_frequency, kContinuingPrefix,
                                      static_cast<std::int32_t>(special.size()), config.progress});
  const auto merges = static_cast<std::int64_t>(grown.merges.size());
  std::string model;
  WordPiece({}, std::move(grown.vocabulary)).write(model);
  constexpr std::string_view kConfig =
      R"({"tokenizer_class":"PreTrainedTokenizerFast","cls_token":"[CLS]","sep_token":"[SEP]",)"
      R"("pad_token":"[PAD]","unk_token":"[UNK]","mask_token":"[MASK]"})";
  return {Tokenizer::from_json(bert_json(special, model), kConfig), training.text_bytes, merges,
          std::move(warning)};
}

}  // namespace bora::tokenize
