// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/unigram_trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bora/tokenize/models/unigram.h"
#include "bora/tokenize/train/bpe_trainer_merges.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"

namespace bora::tokenize {

namespace {

constexpr std::string_view kUnigramWho = "train_tokenizer: unigram";

/// Six decimals: every reader of JSON makes the same double of them, which decides ties.
double rounded(double score) { return std::round(score * 1e6) / 1e6; }

std::set<std::string> reserved_texts(const std::vector<std::string>& special) {
  std::set<std::string> texts(special.begin(), special.end());
  for (int b = 0; b < 256; ++b) texts.insert(byte_name(b));
  return texts;
}

/// Special tokens and bytes, then the pieces. A text that spells <s> or <0x41> out finds cheaper pieces for
/// it than those: 32 of the worst characters (the alphabet has all that spell bytes) cost as much.
std::vector<Unigram::Piece> vocabulary(const std::vector<std::string>& special,
                                       std::vector<UnigramTrainer::Piece> learned) {
  for (auto& piece : learned) piece.score = rounded(piece.score);
  std::sort(learned.begin(), learned.end(), [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.text < b.text;
  });
  const double control = rounded(32 * learned.back().score);
  std::vector<Unigram::Piece> pieces;
  for (const std::string& token : special) pieces.push_back({token, control});
  for (int b = 0; b < 256; ++b) pieces.push_back({byte_name(b), control});
  for (auto& piece : learned) pieces.push_back({std::move(piece.text), piece.score});
  return pieces;
}

/// Characters outside the alphabet cut words: they will be bytes.
WordCounts known_parts(const TrainingWords& training) {
  WordCounts parts;
  for (const auto& word : training.words) {
    training.alphabet.each_part(word.text, [&](std::string_view part) { parts.add(part, word.count); });
  }
  return parts;
}

}  // namespace

TrainedTokenizer train_unigram(const DocumentSource& documents, const TokenizerTrainerConfig& config) {
  const auto special = special_tokens(kUnigramWho, {"<unk>", "<s>", "</s>"}, config);
  TrainingWords training = training_words(kUnigramWho, documents, config, split_metaspace);
  for (const char c : std::string_view("<0x123456789ABCDEF>"))
    training.alphabet.add(static_cast<char32_t>(c));
  const std::int64_t apart = static_cast<std::int64_t>(special.size()) + 256;
  check_vocab_size(kUnigramWho, config.vocab_size, apart + training.alphabet.size(),
                   fmt::format("{} special tokens, 256 bytes and {} characters", special.size(),
                               training.alphabet.size()));
  const WordCounts parts = known_parts(training);
  const auto words = parts.sorted();
  SeedRules rules;
  rules.min_frequency = config.min_frequency;
  rules.excluded = reserved_texts(special);
  UnigramTrainer trainer(words, seed_pieces(words, training.alphabet, rules), config.threads);
  trainer.train(static_cast<std::size_t>(config.vocab_size - apart), config.progress);
  auto pieces = vocabulary(special, trainer.pieces());
  const auto have = static_cast<std::int64_t>(pieces.size());
  std::string warning;
  if (have < config.vocab_size) {
    warning = short_of_tokens(have, config.vocab_size, "no other piece makes it more probable");
  }
  std::string model;
  Unigram(std::move(pieces), 0, true).write(model);
  return {Tokenizer::from_json(metaspace_json(special, model)), training.text_bytes, 0, std::move(warning)};
}

}  // namespace bora::tokenize
