// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "bora/base/error.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/train/bpe_trainer_merges.h"
#include "bora/tokenize/train/word_counts.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using tokenize::MergeLearner;
using tokenize::Vocabulary;

struct Learned : tokenize::GrownVocabulary {
  std::array<std::int32_t, 256> byte_ids{};
};

std::string spelled(int byte) {
  std::string text;
  bora::append_utf8(text, bora::byte_alphabet()[static_cast<std::size_t>(byte)]);
  return text;
}

void check(const BpeTrainerConfig& config) {
  const auto least = static_cast<std::int64_t>(256 + config.special_tokens.size());
  if (config.vocab_size < least || config.vocab_size > Vocabulary::kMaxIds) {
    fail(ErrorKind::InvalidArgument,
         "train_bpe: vocab_size is {}; 256 bytes and {} special tokens need {} at least, and {} is the most\n"
         "hint: 4,096 to 50,000 are common",
         config.vocab_size, config.special_tokens.size(), least, Vocabulary::kMaxIds);
  }
  for (const std::string& token : config.special_tokens) {
    const auto times = std::count(config.special_tokens.begin(), config.special_tokens.end(), token);
    std::string bytes;
    const bool valid = bora::is_valid_utf8(token);
    const bool one_byte = valid && bora::bytes_from_alphabet(token, bytes) && bytes.size() == 1;
    if (!token.empty() && valid && times == 1 && !one_byte) continue;
    fail(ErrorKind::InvalidArgument, "train_bpe: special token {} is {}", bora::json_string(token),
         token.empty() ? "empty"
         : !valid      ? "not UTF-8"
         : times > 1   ? "given twice"
                       : "the name of a byte");
  }
}

/// Special tokens, then the bytes by the code points that stand for them, as `tokenizers` does.
Learned first_tokens(const BpeTrainerConfig& config) {
  Learned learned;
  std::int32_t id = 0;
  for (const std::string& token : config.special_tokens) learned.vocabulary.add(token, id++);
  std::array<int, 256> bytes{};
  std::iota(bytes.begin(), bytes.end(), 0);
  std::sort(bytes.begin(), bytes.end(), [](int a, int b) {
    const auto& alphabet = bora::byte_alphabet();
    return alphabet[static_cast<std::size_t>(a)] < alphabet[static_cast<std::size_t>(b)];
  });
  for (const int b : bytes) {
    learned.vocabulary.add(spelled(b), id);
    learned.byte_ids[static_cast<std::size_t>(b)] = id++;
  }
  return learned;
}

Tokenizer assemble_learned(Learned learned, const BpeTrainerConfig& config) {
  auto p = std::make_shared<tokenize::Pipeline>();
  p->bytes = true;
  p->pre_tokenizer = tokenize::gpt2_pre_tokenizer();
  p->model = std::make_unique<tokenize::Bpe>(tokenize::BpeConfig{}, std::move(learned.vocabulary),
                                             std::move(learned.merges), true, "train_bpe");
  p->post_processor = tokenize::PostProcessor::byte_level();
  p->decoder = tokenize::byte_level_decoder();
  for (std::size_t i = 0; i < config.special_tokens.size(); ++i) {
    tokenize::AddedToken token;
    token.id = static_cast<std::int32_t>(i);
    token.content = config.special_tokens[i];
    token.special = true;
    p->added.add(std::move(token));
  }
  p->added.index(nullptr);
  p->finish("tokenizer_config.json");
  return Tokenizer(std::move(p));
}

}  // namespace

TrainedTokenizer train_bpe(const DocumentSource& documents, const BpeTrainerConfig& config) {
  check(config);
  std::int64_t text_bytes = 0;
  const tokenize::WordCounts counts =
      tokenize::count_words(documents, tokenize::split_gpt2, config.threads, text_bytes);
  if (counts.size() == 0) {
    fail(ErrorKind::InvalidArgument,
         "train_bpe: there is no text: every document is empty, or there is none");
  }
  Learned learned = first_tokens(config);
  MergeLearner learner;
  std::vector<std::int32_t> ids;
  for (const auto& word : counts.sorted()) {
    ids.clear();
    for (const char b : word.text) ids.push_back(learned.byte_ids[static_cast<unsigned char>(b)]);
    learner.add_word(ids, word.count);
  }
  learner.start();
  std::string warning = tokenize::learn_merges(
      learned, learner, {config.vocab_size, config.min_frequency, {}, 0, config.progress});
  const auto merges = static_cast<std::int64_t>(learned.merges.size());
  return {assemble_learned(std::move(learned), config), text_bytes, merges, std::move(warning)};
}

}  // namespace bora
