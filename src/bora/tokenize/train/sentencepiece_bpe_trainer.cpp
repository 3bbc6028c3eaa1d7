// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/tokenize/models/bpe.h"
#include "bora/tokenize/train/bpe_trainer_merges.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kBpeWho = "train_tokenizer: sentencepiece-bpe";

/// Special tokens, the bytes, the alphabet by code point.
Vocabulary first_vocabulary(const std::vector<std::string>& special, const Alphabet& alphabet) {
  Vocabulary vocabulary;
  std::int32_t id = 0;
  for (const std::string& token : special) vocabulary.add(token, id++);
  for (int b = 0; b < 256; ++b) vocabulary.add(byte_name(b), id++);
  for (const char32_t c : alphabet.characters()) {
    std::string text;
    append_utf8(text, c);
    vocabulary.add(text, id++);
  }
  return vocabulary;
}

/// Characters outside the alphabet cut words: they will be bytes, which no merge touches.
void add_words(const TrainingWords& training, std::int32_t first_id, MergeLearner& learner) {
  std::vector<std::int32_t> ids;
  for (const auto& word : training.words) {
    training.alphabet.each_part(word.text, [&](std::string_view part) {
      ids.clear();
      for (std::size_t i = 0; i < part.size();) {
        const CodePoint c = code_point_at(part.data() + i);
        ids.push_back(first_id + training.alphabet.index(c.value));
        i += c.length;
      }
      learner.add_word(ids, word.count);
    });
  }
  learner.start();
}

}  // namespace

TrainedTokenizer train_sentencepiece_bpe(const DocumentSource& documents,
                                         const TokenizerTrainerConfig& config) {
  const auto special = special_tokens(kBpeWho, {"<unk>", "<s>", "</s>"}, config);
  const TrainingWords training = training_words(kBpeWho, documents, config, split_metaspace);
  const auto first_id = static_cast<std::int32_t>(special.size() + 256);
  check_vocab_size(kBpeWho, config.vocab_size, first_id + training.alphabet.size(),
                   fmt::format("{} special tokens, 256 bytes and {} characters", special.size(),
                               training.alphabet.size()));
  GrownVocabulary grown{first_vocabulary(special, training.alphabet), {}};
  MergeLearner learner;
  add_words(training, first_id, learner);
  std::string warning =
      learn_merges(grown, learner, {config.vocab_size, config.min_frequency, {}, first_id, config.progress});
  const auto merges = static_cast<std::int64_t>(grown.merges.size());
  BpeConfig bpe;
  bpe.unk_token = special.front();
  bpe.fuse_unk = true;
  bpe.byte_fallback = true;
  std::string model;
  Bpe(std::move(bpe), std::move(grown.vocabulary), std::move(grown.merges), false, kBpeWho).write(model);
  return {Tokenizer::from_json(metaspace_json(special, model)), training.text_bytes, merges,
          std::move(warning)};
}

}  // namespace bora::tokenize
