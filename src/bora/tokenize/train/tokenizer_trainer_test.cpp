// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/tokenizer_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/tokenize/oracle_test_util.h"
#include "bora/tokenize/tokenize_test_util.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"

namespace bora {
namespace {

using testing::HasSubstr;
using tokenize::documents;
using Ids = std::vector<std::int32_t>;

constexpr TokenizerKind kSp = TokenizerKind::SentencePieceBpe;
constexpr TokenizerKind kUnigram = TokenizerKind::Unigram;
constexpr TokenizerKind kWordPiece = TokenizerKind::WordPiece;

TokenizerTrainerConfig config_of(TokenizerKind kind, std::int64_t vocab_size) {
  TokenizerTrainerConfig config;
  config.kind = kind;
  config.vocab_size = vocab_size;
  config.character_coverage = 1;
  return config;
}

std::string trainer_error(const TokenizerTrainerConfig& config,
                          std::vector<std::string> texts = {"some text"}) {
  try {
    train_tokenizer(documents(std::move(texts)), config);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    return e.what();
  }
  return "no error";
}

/// The tokens of a text, separated by |.
std::string tokens(const Tokenizer& t, std::string_view text, bool special = false) {
  Ids ids;
  t.encode_ids(text, ids, special);
  std::string out;
  for (const auto id : ids) out += (out.empty() ? "" : "|") + t.token(id).value_or("?");
  return out;
}

std::string words_text(std::size_t bytes) {
  std::string text;
  tokenize::RandomTexts random(3);
  const std::vector<std::string> atoms = {"ab", "abc", "e", "é", "trans", "form", "ation", "s", "日本", "x1"};
  while (text.size() < bytes) {
    for (std::uint32_t n = 1 + random.below(4); n > 0; --n)
      text += atoms[random.below(10) * random.below(10) / 10];
    text += random.below(12) == 0 ? ".\n" : " ";
  }
  return text;
}

std::map<std::string, std::int64_t> counted(const tokenize::WordCounts& counts) {
  std::map<std::string, std::int64_t> out;
  for (const auto& word : counts.sorted()) out[std::string(word.text)] = word.count;
  return out;
}

TEST(TokenizerTrainer, Kinds) {
  EXPECT_EQ(parse_tokenizer_kind("bpe"), TokenizerKind::Bpe);
  EXPECT_EQ(parse_tokenizer_kind("sentencepiece-bpe"), kSp);
  EXPECT_EQ(parse_tokenizer_kind("unigram"), kUnigram);
  EXPECT_EQ(parse_tokenizer_kind("wordpiece"), kWordPiece);
  try {
    parse_tokenizer_kind("bep");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "tokenizer kind \"bep\" is not one of bpe, sentencepiece-bpe, unigram, wordpiece");
  }
}

TEST(TokenizerTrainer, MetaspaceWords) {
  tokenize::WordCounts counts;
  tokenize::split_metaspace("a b  c\n\nd\n e▁f", true, counts);
  EXPECT_EQ(counted(counts), (std::map<std::string, std::int64_t>{{"▁a", 1},
                                                                  {"▁b", 1},
                                                                  {"▁", 1},
                                                                  {"▁c", 1},
                                                                  {"\n\n", 1},
                                                                  {"d", 1},
                                                                  {"\n", 1},
                                                                  {"▁e", 1},
                                                                  {"▁f", 1}}));
  tokenize::WordCounts rest;
  tokenize::split_metaspace(" x y", false, rest);
  EXPECT_EQ(counted(rest), (std::map<std::string, std::int64_t>{{"▁x", 1}, {"▁y", 1}}));
}

TEST(TokenizerTrainer, TheMostFrequentCharactersAreCovered) {
  const std::vector<tokenize::WordCounts::Word> words = {{"aabc", 2}, {"d", 1}, {"é", 1}};
  using Characters = std::vector<char32_t>;
  EXPECT_EQ(tokenize::Alphabet(words, 1).characters(), (Characters{'a', 'b', 'c', 'd', U'é'}));
  // 10 characters: a 4, b 2, c 2, d 1, é 1.
  EXPECT_EQ(tokenize::Alphabet(words, 0.6).characters(), (Characters{'a', 'b'}));
  EXPECT_EQ(tokenize::Alphabet(words, 0.61).characters(), (Characters{'a', 'b', 'c'}));
  EXPECT_EQ(tokenize::Alphabet(words, 0.9).characters(), (Characters{'a', 'b', 'c', 'd'}));
  std::vector<std::string> parts;
  tokenize::Alphabet(words, 0.6).each_part("éabcab", [&](std::string_view p) { parts.emplace_back(p); });
  EXPECT_EQ(parts, (std::vector<std::string>{"ab", "ab"}));
}

TEST(TokenizerTrainer, SentencePieceBpeByHand) {
  // 3 special tokens, 256 bytes, then a b c ▁ by code point, then merges. Words: ▁ab 3, ▁abc 2, ▁c 1.
  const auto trained = train_tokenizer(documents({"ab ab ab abc abc c"}), config_of(kSp, 266));
  const Tokenizer& t = trained.tokenizer;
  EXPECT_EQ(trained.merges, 3);
  EXPECT_EQ(trained.warning, "");
  EXPECT_EQ(t.token(0), "<unk>");
  EXPECT_EQ(t.bos_id(), 1);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_EQ(t.token(3), "<0x00>");
  EXPECT_EQ(t.token(259), "a");
  EXPECT_EQ(t.token(262), "▁");
  EXPECT_EQ(t.token(263), "ab");  // 5 times, as ▁a, whose left id is larger
  EXPECT_EQ(t.token(264), "▁ab");
  EXPECT_EQ(t.token(265), "▁abc");
  EXPECT_EQ(tokens(t, "abc ab dé"), "▁abc|▁ab|▁|<0x64>|<0xC3>|<0xA9>");
}

TEST(TokenizerTrainer, RareCharactersBecomeBytes) {
  auto config = config_of(kSp, 300);
  config.character_coverage = 0.95;
  const Tokenizer t = train_tokenizer(documents({"aaaa aaaa aaaa aaaa aaaa z"}), config).tokenizer;
  EXPECT_FALSE(t.id_of("z"));
  EXPECT_EQ(tokens(t, "z"), "▁|<0x7A>");
}

TEST(TokenizerTrainer, NoMergeSpellsASpecialTokenOrAByte) {
  const std::string text = "<s><0x41> <s><0x41> <s><0x41>";
  for (const TokenizerKind kind : {kSp, kUnigram}) {
    const Tokenizer t = train_tokenizer(documents({text}), config_of(kind, 350)).tokenizer;
    Ids ids;
    t.encode_ids(text, ids, false, SpecialInText::Ordinary);
    EXPECT_EQ(t.decode(ids), text);
    EXPECT_THAT(ids, testing::Each(testing::Ge(259)));
  }
}

TEST(TokenizerTrainer, AnyTextComesBack) {
  for (const TokenizerKind kind : {kSp, kUnigram}) {
    const Tokenizer t = train_tokenizer(documents({words_text(20'000)}), config_of(kind, 500)).tokenizer;
    for (const std::string text : {"", " ", "\n", "ab abc", " ab", "  two  spaces  ", "\n\nx\n y\n",
                                   "日本 ö\t\r\n", "<0x41>", "\U0001F600"}) {
      Ids ids;
      t.encode_ids(text, ids);
      EXPECT_EQ(t.decode(ids), text);
    }
  }
}

TEST(TokenizerTrainer, WordPieceByHand) {
  // 5 special tokens; a b c n u, then ##a? no: ##b ##n as they stand inside words. Words: ab 3 (one is Ab),
  // bun 2.
  auto config = config_of(kWordPiece, 5 + 6 + 4 + 3);
  const auto trained = train_tokenizer(documents({"ab ab \xC3\x81"
                                                  "b, abc",
                                                  "bun bun"}),
                                       config);
  const Tokenizer& t = trained.tokenizer;
  EXPECT_EQ(t.token(0), "[PAD]");
  EXPECT_EQ(t.unk_id(), 1);
  EXPECT_EQ(t.bos_id(), 2);
  EXPECT_EQ(t.eos_id(), 3);
  EXPECT_EQ(t.pad_id(), 0);
  EXPECT_EQ(tokens(t, "AB abc, bun x", true), "[CLS]|ab|ab|##c|,|bun|[UNK]|[SEP]");
  EXPECT_EQ(t.decode(Ids{*t.id_of("ab"), *t.id_of("##c"), *t.id_of(",")}), "abc,");
}

TEST(TokenizerTrainer, SameForAnyNumberOfThreads) {
  const std::string text = words_text(300'000);
  for (const TokenizerKind kind : {TokenizerKind::Bpe, kSp, kUnigram, kWordPiece}) {
    auto config = config_of(kind, 400);
    config.character_coverage = 0.999;
    std::vector<Hash128> prints;
    for (const int threads : {1, 2, 3}) {
      config.threads = threads;
      prints.push_back(
          train_tokenizer(documents({text, text.substr(1000), "", "end"}), config).tokenizer.fingerprint());
    }
    EXPECT_THAT(prints, testing::Each(prints[0]));
  }
}

TEST(TokenizerTrainer, CuttingDocumentsChangesNothing) {
  // More than a thread takes at a time; ▁ stands only in front of the whole.
  const std::string text = words_text(400'000);
  std::string spaced = text;
  for (auto& c : spaced) c = c == '\n' ? ' ' : c;
  for (const TokenizerKind kind : {kSp, kWordPiece}) {
    const Tokenizer t = train_tokenizer(documents({spaced}), config_of(kind, 350)).tokenizer;
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < spaced.size();) {
      std::size_t end = spaced.find(' ', begin + 5000);
      if (end == std::string::npos) end = spaced.size();
      parts.push_back(spaced.substr(begin, end - begin));
      begin = end + 1;  // the space comes back as the ▁ in front of the next document
    }
    EXPECT_EQ(t.fingerprint(),
              train_tokenizer(documents(parts), config_of(kind, 350)).tokenizer.fingerprint());
  }
}

TEST(TokenizerTrainer, SavedAndReadAgain) {
  const std::string directory = testing::TempDir() + "/trained_kinds";
  for (const TokenizerKind kind : {kSp, kUnigram, kWordPiece}) {
    const Tokenizer t = train_tokenizer(documents({words_text(20'000)}), config_of(kind, 450)).tokenizer;
    t.save(directory);
    const Tokenizer again = Tokenizer::load(directory);
    EXPECT_EQ(again.fingerprint(), t.fingerprint());
    EXPECT_EQ(again.eos_id(), t.eos_id());
    EXPECT_EQ(again.unk_id(), t.unk_id());
  }
  EXPECT_THAT(read_text(directory + "/tokenizer_config.json"), HasSubstr("\"mask_token\": \"[MASK]\""));
  remove_all(directory);
}

TEST(TokenizerTrainer, MoreSpecialTokensAndProgress) {
  for (const TokenizerKind kind : {TokenizerKind::Bpe, kSp, kUnigram, kWordPiece}) {
    auto config = config_of(kind, 400);
    config.more_special_tokens = {"<|im_start|>", "<|im_end|>"};
    std::int64_t last = 0, all = 1;
    config.progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_GE(done, last);
      last = done;
      all = total;
    };
    const Tokenizer t = train_tokenizer(documents({words_text(50'000)}), config).tokenizer;
    EXPECT_TRUE(t.is_special(t.id_of("<|im_end|>").value()));
    EXPECT_LE(last, all);
    EXPECT_GT(last, 0);
  }
}

TEST(TokenizerTrainer, StopsWhenTheTextIsUsedUp) {
  EXPECT_EQ(train_tokenizer(documents({"ab ab"}), config_of(kSp, 2000)).warning,
            "the text gave 264 of 2,000 tokens: no other pair occurs 2 times\n"
            "hint: more text, or a smaller vocabulary");
  EXPECT_THAT(train_tokenizer(documents({"ab ab"}), config_of(kUnigram, 2000)).warning,
              HasSubstr(" of 2,000 tokens: no other piece makes it more probable\nhint: "));
}

TEST(TokenizerTrainer, LeastVocabulary) {
  for (const TokenizerKind kind : {TokenizerKind::Bpe, kSp, kUnigram, kWordPiece}) {
    const std::string text = kind == kWordPiece ? "x" : " ";
    const std::int64_t least = least_vocab_size(kind);
    EXPECT_EQ(train_tokenizer(documents({text}), config_of(kind, least)).tokenizer.vocab_size(), least);
    EXPECT_THAT(trainer_error(config_of(kind, least - 1), {text}),
                HasSubstr(" need " + std::to_string(least) + " at least"));
  }
}

TEST(TokenizerTrainer, Errors) {
  EXPECT_EQ(
      trainer_error(config_of(kSp, 100), {"abab"}),
      "train_tokenizer: sentencepiece-bpe: vocab_size is 100; 3 special tokens, 256 bytes and 3 characters "
      "need 262 at least, and 16777216 is the most\nhint: 4,096 to 50,000 are common");
  EXPECT_EQ(
      trainer_error(config_of(kUnigram, 280), {"abab"}),
      "train_tokenizer: unigram: vocab_size is 280; 3 special tokens, 256 bytes and 22 characters need 281 "
      "at least, and 16777216 is the most\nhint: 4,096 to 50,000 are common");
  EXPECT_EQ(
      trainer_error(config_of(kWordPiece, 8), {"abab"}),
      "train_tokenizer: wordpiece: vocab_size is 8; 5 special tokens, 2 characters and 2 that continue words "
      "need 9 at least, and 16777216 is the most\nhint: 4,096 to 50,000 are common");
  EXPECT_EQ(
      trainer_error(config_of(kSp, 300), {""}),
      "train_tokenizer: sentencepiece-bpe: there is no text: every document is empty, or there is none");
  auto config = config_of(kUnigram, 300);
  config.character_coverage = 0;
  EXPECT_EQ(trainer_error(config),
            "train_tokenizer: unigram: character_coverage is 0; it should be above 0 and at most 1\n"
            "hint: 0.9995, or 1 for a text of few characters");
  const auto special = [](std::string token) {
    auto c = config_of(kWordPiece, 300);
    c.more_special_tokens = {std::move(token)};
    return trainer_error(c);
  };
  const std::string start = "train_tokenizer: wordpiece: special token ";
  EXPECT_EQ(special(""), start + "\"\" is empty");
  EXPECT_EQ(special("[SEP]"), start + "\"[SEP]\" is given twice");
  EXPECT_EQ(special("<0x0A>"), start + "\"<0x0A>\" is the name of a byte");
  EXPECT_EQ(special("é"), start + "\"é\" is a single character");
  EXPECT_THAT(special("\xFF"), HasSubstr(" is not UTF-8"));
}

}  // namespace
}  // namespace bora
