// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora {
namespace {

using testing::HasSubstr;
using tokenize::documents;
using Ids = std::vector<std::int32_t>;

std::string synthetic_text(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 3;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t word = (state >> 10) % 700;
    for (std::uint32_t k = word + 3; k > 0; k /= 5) text += static_cast<char>('a' + (k * 7 + word % 3) % 26);
    text += state % 11 == 0 ? ".\n" : " ";
  }
  return text;
}

std::string bpe_error(const BpeTrainerConfig& config, std::vector<std::string> texts = {"some text"}) {
  try {
    train_bpe(documents(std::move(texts)), config);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "no error";
}

TEST(BpeTrainer, LearnsTheMostFrequentPairsFirst) {
  BpeTrainerConfig config;
  config.vocab_size = 260;
  const auto trained = train_bpe(documents({"aab aab aab", "cd cd"}), config);
  const Tokenizer& t = trained.tokenizer;
  EXPECT_EQ(trained.merges, 3);
  EXPECT_EQ(trained.text_bytes, 16);
  EXPECT_EQ(trained.warning, "");
  EXPECT_EQ(t.vocab_size(), 260);
  EXPECT_EQ(t.token(0), "<|endoftext|>");
  EXPECT_EQ(t.token(1), "!");
  // "aa" and "ab" occur 3 times: the smaller ids win. Then "aab"; then "Ġaab", 2 times, before "cd", whose
  // left id is smaller but ... is counted 2 times too: ties go to the smaller left id.
  EXPECT_EQ(t.token(257), "aa");
  EXPECT_EQ(t.token(258), "aab");
  EXPECT_EQ(t.token(259), "cd");
  Ids ids;
  t.encode_ids("aab<|endoftext|>cd", ids);
  EXPECT_EQ(ids, Ids({258, 0, 259}));
  EXPECT_EQ(t.bos_id(), 0);
  EXPECT_EQ(t.eos_id(), 0);
}

TEST(BpeTrainer, AnyTextComesBack) {
  const Tokenizer t = tokenize::tiny();
  for (const std::string text : {"some words, again", " \n\t x", "日本語 é \U0001F600", "'ll 'tis 123"}) {
    Ids ids;
    t.encode_ids(text, ids);
    EXPECT_EQ(t.decode(ids), text);
  }
}

TEST(BpeTrainer, SameForAnyNumberOfThreads) {
  const std::string text = synthetic_text(700'000);
  BpeTrainerConfig config;
  config.vocab_size = 600;
  std::vector<Hash128> prints;
  for (const int threads : {1, 2, 3, 4}) {
    config.threads = threads;
    prints.push_back(
        train_bpe(documents({text, text.substr(1000), "", "end"}), config).tokenizer.fingerprint());
  }
  EXPECT_THAT(prints, testing::Each(prints[0]));
}

TEST(BpeTrainer, CuttingDocumentsChangesNothing) {
  const std::string text = synthetic_text(400'000);  // longer than a thread takes at a time
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(' ', begin + 5000);
    if (end == std::string::npos) end = text.size();
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  BpeTrainerConfig config;
  config.vocab_size = 500;
  EXPECT_EQ(train_bpe(documents({text}), config).tokenizer.fingerprint(),
            train_bpe(documents(parts), config).tokenizer.fingerprint());
}

TEST(BpeTrainer, ReportsProgress) {
  BpeTrainerConfig config;
  config.vocab_size = 500;
  std::vector<std::int64_t> done;
  config.progress = [&](std::int64_t d, std::int64_t total) {
    EXPECT_EQ(total, 500 - 257);
    done.push_back(d);
  };
  train_bpe(documents({synthetic_text(20'000)}), config);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 243);
}

TEST(BpeTrainer, StopsWhenTheTextIsUsedUp) {
  BpeTrainerConfig config;
  config.vocab_size = 2000;
  const auto trained = train_bpe(documents({"ab ab ab"}), config);
  EXPECT_EQ(trained.tokenizer.vocab_size(), 259);
  EXPECT_EQ(trained.warning,
            "the text gave 259 of 2,000 tokens: no other pair occurs 2 times\n"
            "hint: more text, or a smaller vocabulary");
}

TEST(BpeTrainer, MinimumFrequencyAndSpecialTokens) {
  BpeTrainerConfig config;
  config.vocab_size = 300;
  config.min_frequency = 3;
  config.special_tokens = {"<s>", "<|x|>"};
  const Tokenizer t = train_bpe(documents({"ab ab ab cd cd"}), config).tokenizer;
  EXPECT_EQ(t.id_of("<|x|>"), 1);
  EXPECT_TRUE(t.is_special(1));
  EXPECT_TRUE(t.id_of("ab"));
  EXPECT_FALSE(t.id_of("cd"));
}

TEST(BpeTrainer, InvalidUtf8IsReplaced) {
  BpeTrainerConfig config;
  config.vocab_size = 258;
  const auto trained = train_bpe(documents({"\xFF\xFF\xFF\xFF"}), config);
  EXPECT_EQ(trained.tokenizer.bytes_per_token()[257], 2);  // EF BF, BF BD or BD EF of U+FFFD
}

TEST(BpeTrainer, Errors) {
  BpeTrainerConfig config;
  EXPECT_EQ(bpe_error(config, {}), "train_bpe: there is no text: every document is empty, or there is none");
  EXPECT_EQ(bpe_error(config, {"", ""}),
            "train_bpe: there is no text: every document is empty, or there is none");
  config.vocab_size = 256;
  EXPECT_EQ(bpe_error(config),
            "train_bpe: vocab_size is 256; 256 bytes and 1 special tokens need 257 at least, and 16777216 is "
            "the most\n"
            "hint: 4,096 to 50,000 are common");
  config.vocab_size = 300;
  config.special_tokens = {"<s>", "<s>"};
  EXPECT_EQ(bpe_error(config), "train_bpe: special token \"<s>\" is given twice");
  config.special_tokens = {""};
  EXPECT_EQ(bpe_error(config), "train_bpe: special token \"\" is empty");
  config.special_tokens = {"a"};
  EXPECT_EQ(bpe_error(config), "train_bpe: special token \"a\" is the name of a byte");
}

TEST(BpeTrainer, TrainedTokenizerIsSavedAndReadAgain) {
  const std::string directory = testing::TempDir() + "/trained";
  const Tokenizer t = tokenize::tiny();
  t.save(directory);
  const Tokenizer again = Tokenizer::load(directory);
  EXPECT_EQ(again.fingerprint(), t.fingerprint());
  EXPECT_EQ(again.eos_id(), 0);
  EXPECT_THAT(read_text(directory + "/tokenizer_config.json"), HasSubstr("\"eos_token\": \"<|endoftext|>\""));
  remove_all(directory);
}

}  // namespace
}  // namespace bora
