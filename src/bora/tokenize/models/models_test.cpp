// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Unigram, WordPiece, WordLevel and the trie under them. Expected values are those of `tokenizers` 0.22.2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/models/byte_trie.h"
#include "bora/tokenize/models/model.h"
#include "bora/tokenize/models/unigram.h"

namespace bora::tokenize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ShownToken {
  std::int32_t id;
  std::uint32_t begin, end;
  bool operator==(const ShownToken&) const = default;
};

void PrintTo(const ShownToken& s, std::ostream* out) { *out << s.id << "@" << s.begin << "-" << s.end; }

std::unique_ptr<const Model> model(const std::string& json) {
  const JsonDocument document(json, "tokenizer.json");
  auto read = read_model(document.root(), false);
  std::string written;
  read->write(written);
  const JsonDocument again(written, "written");
  std::string twice;
  read_model(again.root(), false)->write(twice);
  EXPECT_EQ(twice, written);
  return read;
}

std::vector<ShownToken> tokens(const Model& model, std::string_view text) {
  std::vector<Token> out;
  model.tokenize(text, out);
  std::vector<ShownToken> shown;
  for (const Token& t : out) shown.push_back({t.id, t.begin, t.end});
  return shown;
}

std::string model_error(const std::string& json, ErrorKind kind) {
  try {
    model(json);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  ADD_FAILURE() << "no error: " << json;
  return {};
}

// ---- trie ----

TEST(ByteTrie, FindsTheLongest) {
  const ByteTrie trie({{"a", 1}, {"abc", 2}, {"", 9}, {"\xFF\x01", 3}, {"abc", 4}});
  EXPECT_EQ(trie.longest("abcd").size, 3u);
  EXPECT_EQ(trie.longest("abcd").value, 4);  // the later of two
  EXPECT_EQ(trie.longest("abx").value, 1);
  EXPECT_EQ(trie.longest("\xFF\x01").value, 3);
  EXPECT_EQ(trie.longest("x").value, -1);
  EXPECT_EQ(trie.longest("").value, -1);
  EXPECT_EQ(ByteTrie().longest("a").value, -1);
}

TEST(ByteTrie, HoldsWhatAMapHolds) {
  std::map<std::string, std::int32_t> all;
  std::uint32_t state = 1;
  const auto next = [&](std::uint32_t n) { return ((state = state * 1664525 + 1013904223) >> 8) % n; };
  for (std::int32_t i = 0; i < 5000; ++i) {
    std::string key;
    for (std::uint32_t n = 1 + next(6); n > 0; --n)
      key += static_cast<char>(next(3) == 0 ? next(256) : 97 + next(4));
    all[key] = i;
  }
  std::vector<ByteTrie::Key> keys(all.begin(), all.end());
  const ByteTrie trie(keys);
  for (const auto& [key, value] : all) {
    EXPECT_EQ(trie.longest(key).value, value);
    EXPECT_EQ(trie.longest(key).size, key.size());
    const auto longer = trie.longest(key + "\xFE");
    if (longer.size == key.size()) {
      EXPECT_EQ(longer.value, value);
    }
  }
}

// ---- Unigram ----

std::string unigram(const std::string& vocab,
                    const std::string& rest = R"("unk_id":0,"byte_fallback":false)") {
  return R"({"type":"Unigram",)" + rest + ",\"vocab\":[" + vocab + "]}";
}

TEST(Unigram, TakesTheBestPath) {
  const auto m = model(
      unigram(R"(["<unk>",0],["a",0],["b",0],["c",0],["d",0],["cd",1],["ab",2],["abc",5],["abcd",10])"));
  EXPECT_THAT(tokens(*m, "abcdacdxx"), ElementsAre(ShownToken{8, 0, 4}, ShownToken{1, 4, 5},
                                                   ShownToken{5, 5, 7}, ShownToken{0, 7, 9}));
  EXPECT_TRUE(tokens(*m, "").empty());
  EXPECT_EQ(m->unk_id(), 0);
  EXPECT_EQ(m->text_of({0, 7, 9}, "abcdacdxx"), "xx");
  EXPECT_EQ(m->text_of({8, 0, 4}, "abcdacdxx"), "abcd");
}

TEST(Unigram, TheFirstOfEquals) {
  const auto m = model(unigram(R"(["<unk>",0],["a",-1],["aa",-2])"));
  EXPECT_THAT(tokens(*m, "aaa"), ElementsAre(ShownToken{1, 0, 1}, ShownToken{2, 1, 3}));
}

TEST(Unigram, UnknownsFuseAndMayBeSpelledOut) {
  const auto m = model(unigram(R"(["<unk>",0],["a",-1])"));
  EXPECT_THAT(tokens(*m, "a<unk>é"), ElementsAre(ShownToken{1, 0, 1}, ShownToken{0, 1, 8}));
}

TEST(Unigram, BytesOfUnknowns) {
  const auto m = model(
      unigram(R"(["<unk>",0],["a",-1],["<0xC3>",-2],["<0xA9>",-2])", R"("unk_id":0,"byte_fallback":true)"));
  EXPECT_THAT(tokens(*m, "aé"), ElementsAre(ShownToken{1, 0, 1}, ShownToken{2, 1, 3}, ShownToken{3, 1, 3}));
  EXPECT_THAT(tokens(*m, "éx"), ElementsAre(ShownToken{0, 0, 3}));  // x has no byte, so neither has é
}

TEST(Unigram, ALaterPieceTakesTheText) {
  const auto m = model(unigram(R"(["<unk>",0],["a",-1],["a",-2])"));
  EXPECT_THAT(tokens(*m, "a"), ElementsAre(ShownToken{2, 0, 1}));
  EXPECT_EQ(m->vocabulary().text(1), "a");
  EXPECT_EQ(m->vocabulary().count(), 3);
}

TEST(Unigram, WithoutUnknownToken) {
  const auto m = model(unigram(R"(["a",-1])", R"("unk_id":null)"));
  EXPECT_THAT(tokens(*m, "aa"), ElementsAre(ShownToken{0, 0, 1}, ShownToken{0, 1, 2}));
  try {
    tokens(*m, "aé");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(e.what(),
                 "encode: \"é\" is in no piece of the vocabulary, and the model (Unigram) has no unk_id");
  }
}

TEST(Unigram, ReadsNumbersLikeSerde) {
  EXPECT_EQ(serde_json_number(-15.275492379532281), -15.27549237953228);
  EXPECT_EQ(serde_json_number(-9.908701741838819), -9.90870174183882);
  EXPECT_EQ(serde_json_number(-14.429688151665367), -14.429688151665369);
  for (const double exact : {0.0, -1.0, 0.1, -2.5, 1e22, -123456.75, 1e-300, -3.0e-7}) {
    EXPECT_EQ(serde_json_number(exact), exact);
  }
}

TEST(Unigram, Errors) {
  EXPECT_EQ(model_error(R"({"type":"Unigram","unk_id":0})", ErrorKind::Corruption),
            "tokenizer.json: vocab is missing");
  EXPECT_EQ(model_error(unigram(R"(["a"])"), ErrorKind::Corruption),
            "tokenizer.json: vocab[0] should be a piece and its score but has 1 members");
  EXPECT_EQ(model_error(unigram(R"([1,2])"), ErrorKind::Corruption),
            "tokenizer.json: vocab[0][0] should be a string but is 1");
  EXPECT_EQ(model_error(unigram(R"(["a","b"])"), ErrorKind::Corruption),
            "tokenizer.json: vocab[0][1] should be a number but is \"b\"");
  EXPECT_EQ(model_error(unigram(R"(["a",0])", R"("unk_id":1)"), ErrorKind::Corruption),
            "tokenizer.json: unk_id is 1, which is no id of the 1 of the vocabulary");
}

// ---- WordPiece ----

std::string wordpiece(const std::string& vocab, int longest = 100, const std::string& prefix = "##") {
  return R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":")" + prefix +
         R"(","max_input_chars_per_word":)" + std::to_string(longest) + ",\"vocab\":{" + vocab + "}}";
}

TEST(WordPiece, TakesTheLongestPieces) {
  const auto m = model(wordpiece(R"("[UNK]":0,"un":1,"##aff":2,"##able":3,"##a":4,"a":5,"é":6,"##é":7)"));
  EXPECT_THAT(tokens(*m, "unaffable"),
              ElementsAre(ShownToken{1, 0, 2}, ShownToken{2, 2, 5}, ShownToken{3, 5, 9}));
  EXPECT_THAT(tokens(*m, "éé"), ElementsAre(ShownToken{6, 0, 2}, ShownToken{7, 2, 4}));
  EXPECT_THAT(tokens(*m, "unaffx"), ElementsAre(ShownToken{0, 0, 6}));
  EXPECT_THAT(tokens(*m, "##a"), ElementsAre(ShownToken{4, 0, 3}));  // spelled out at the start of a word
}

TEST(WordPiece, LongWordsAreUnknown) {
  const auto m = model(wordpiece(R"("[UNK]":0,"é":1,"##é":2)", 2));
  EXPECT_THAT(tokens(*m, "éé"), ElementsAre(ShownToken{1, 0, 2}, ShownToken{2, 2, 4}));
  EXPECT_THAT(tokens(*m, "ééé"), ElementsAre(ShownToken{0, 0, 6}));
}

TEST(WordPiece, WithoutPrefix) {
  const auto m = model(wordpiece(R"("[UNK]":0,"ab":1,"a":2,"b":3)", 100, ""));
  EXPECT_THAT(tokens(*m, "abab"), ElementsAre(ShownToken{1, 0, 2}, ShownToken{1, 2, 4}));
}

TEST(WordPiece, Errors) {
  EXPECT_EQ(model_error(R"({"type":"WordPiece","unk_token":"[UNK]"})", ErrorKind::Corruption),
            "tokenizer.json: continuing_subword_prefix is missing");
  EXPECT_EQ(model_error(wordpiece("", -1), ErrorKind::Corruption),
            "tokenizer.json: max_input_chars_per_word is -1; it should be 0 or more");
  EXPECT_EQ(model_error(wordpiece(R"("a":0,"b":0)"), ErrorKind::Corruption),
            "tokenizer.json: vocab.b has id 0, which is that of \"a\"");
  const auto m = model(wordpiece(R"("a":0)"));
  EXPECT_EQ(m->unk_id(), std::nullopt);
  try {
    tokens(*m, "ab");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(e.what(),
                 "encode: no pieces of the vocabulary make up \"ab\", and the model's (WordPiece) unk_token "
                 "\"[UNK]\" is no token");
  }
}

// ---- BPE ----

TEST(Bpe, AnUnknownTokenThatIsNoneIsAnErrorWhereItIsNeeded) {
  const auto m = model(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"unk_token":"[UNK]"})");
  EXPECT_THAT(tokens(*m, "ab"), ElementsAre(ShownToken{2, 0, 2}));
  try {
    tokens(*m, "aéb");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(
        e.what(),
        "encode: \"é\" is not in the vocabulary, and the model's (BPE) unk_token \"[UNK]\" is no token");
  }
  const auto without =
      model(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"unk_token":null})");
  EXPECT_THAT(tokens(*without, "aéb"), ElementsAre(ShownToken{2, 0, 2}));
}

// ---- WordLevel ----

TEST(WordLevel, WholeWords) {
  const auto m = model(R"({"type":"WordLevel","vocab":{"a":0,"?":1,"ab":2},"unk_token":"?"})");
  EXPECT_THAT(tokens(*m, "ab"), ElementsAre(ShownToken{2, 0, 2}));
  EXPECT_THAT(tokens(*m, "abc"), ElementsAre(ShownToken{1, 0, 3}));
  try {
    tokens(*model(R"({"type":"WordLevel","vocab":{"a":0},"unk_token":"?"})"), std::string(100, 'b'));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_EQ(e.what(),
              "encode: \"" + std::string(60, 'b') +
                  "\"... is not in the vocabulary, and the model's (WordLevel) unk_token \"?\" is no token");
  }
}

TEST(ModelType, IsToldByTheMembersOfOldFiles) {
  EXPECT_THAT(tokens(*model(R"({"unk_id":null,"vocab":[["a",0]]})"), "a"), ElementsAre(ShownToken{0, 0, 1}));
  EXPECT_THAT(tokens(*model(R"({"unk_token":"a","vocab":{"a":0}})"), "b"), ElementsAre(ShownToken{0, 0, 1}));
  EXPECT_THAT(
      tokens(*model(R"({"unk_token":"a","continuing_subword_prefix":"#","max_input_chars_per_word":9,)"
                    R"("vocab":{"a":0,"b":1,"#b":2}})"),
             "bb"),
      ElementsAre(ShownToken{1, 0, 1}, ShownToken{2, 1, 2}));
  EXPECT_THAT(tokens(*model(R"({"vocab":{"a":0,"b":1,"ab":2},"merges":["#version: 0.2","a b"]})"), "ab"),
              ElementsAre(ShownToken{2, 0, 2}));
}

}  // namespace
}  // namespace bora::tokenize
