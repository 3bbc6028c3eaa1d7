// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// encode_ids() keeps no alignment and looks pieces up in tables; its ids are those of encode() all the same.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/tokenize/oracle_test_util.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {
namespace {

using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

const Texts kNormalizers = {
    R"({"type":"NFKC"})",
    R"({"type":"NFD"})",
    R"({"type":"Lowercase"})",
    R"({"type":"StripAccents"})",
    R"({"type":"Nmt"})",
    R"({"type":"Prepend","prepend":"▁"})",
    R"({"type":"Prepend","prepend":"a-1"})",
    R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})",
    R"({"type":"Replace","pattern":{"String":"1"},"content":""})",
    R"({"type":"Replace","pattern":{"String":"a"},"content":" b 1"})",
    R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"})",
    R"({"type":"Replace","pattern":{"String":""},"content":"-"})",
    R"({"type":"Strip","strip_left":true,"strip_right":true})",
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
    R"({"type":"ByteLevel"})"};

const Texts kPreTokenizers = {
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first"})",
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false})",
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first"})",
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})",
    R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})",
    R"({"type":"Digits","individual_digits":true})",
    R"({"type":"WhitespaceSplit"})",
    R"({"type":"Whitespace"})",
    R"({"type":"Punctuation","behavior":"Isolated"})",
    R"({"type":"Split","pattern":{"String":"▁"},"behavior":"MergedWithPrevious","invert":false})",
    R"({"type":"FixedLength","length":2})",
    R"({"type":"BertPreTokenizer"})",
    R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":true})",
    R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})"};

/// Up to `longest` of `items`, in a Sequence, or null.
std::string some(RandomTexts& random, const Texts& items, std::string_view list, std::uint32_t longest) {
  const std::uint32_t n = random.below(longest + 1);
  if (n == 0) return "null";
  std::string all;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i > 0) all += ',';
    all += items[random.below(static_cast<std::uint32_t>(items.size()))];
  }
  return n == 1 ? all : fmt::format(R"({{"type":"Sequence","{}":[{}]}})", list, all);
}

const Texts kTokens = {"<unk>", "<s>", "<0xC2>", "<0xBD>", "▁",  "a",  "b", "1", "2",  "-", "⁄",
                       "e",     "Ġ",   "▁a",     "▁1",     "ab", "▁▁", "½", "Â", "12", "s", "<"};

std::string model(RandomTexts& random) {
  std::string vocab;
  switch (random.below(3)) {
    case 0:
      for (const auto& token : kTokens)
        vocab +=
            fmt::format("{}[{},{}]", vocab.empty() ? "" : ",", json_string(token), -1.0 - random.below(5));
      return fmt::format(R"({{"type":"Unigram","unk_id":0,"byte_fallback":{},"vocab":[{}]}})",
                         random.below(2) == 0, vocab);
    case 1:
      for (std::size_t i = 0; i < kTokens.size(); ++i)
        vocab += fmt::format("{}{}:{}", i > 0 ? "," : "", json_string(kTokens[i]), i);
      return fmt::format(
          R"({{"type":"BPE","unk_token":"<unk>","fuse_unk":{},"byte_fallback":{},"vocab":{{{}}},)"
          R"("merges":["▁ a","▁ 1","a b","▁ ▁","1 2"]}})",
          random.below(2) == 0, random.below(2) == 0, vocab);
    default:
      for (std::size_t i = 0; i < kTokens.size(); ++i)
        vocab += fmt::format("{}{}:{}", i > 0 ? "," : "", json_string(kTokens[i]), i);
      return fmt::format(R"({{"type":"WordLevel","unk_token":"<unk>","vocab":{{{}}}}})", vocab);
  }
}

std::string added_tokens(RandomTexts& random) {
  std::string all;
  for (std::size_t i = 0; i < kTokens.size(); ++i) {
    if (random.below(8) != 0) continue;
    all += fmt::format(R"({}{{"id":{},"content":{},"special":{},"normalized":{},"lstrip":{}}})",
                       all.empty() ? "" : ",", i, json_string(kTokens[i]), random.below(2) == 0,
                       random.below(2) == 0, random.below(4) == 0);
  }
  return "[" + all + "]";
}

TEST(FastEncoder, GivesTheIdsOfEncode) {
  const Texts atoms = {"a",      "b",  "1",       "2",      " ",     "  ", "▁",  "-",  "½",
                       "⑫",      "é",  "e\u0301", "\u0301", "ﬁ",     "İ",  "中", "文", "\u0001",
                       "\u3000", "\n", "<s>",     "<0xC2>", "<unk>", "ab", "A",  "㎏"};
  RandomTexts random(20261129);
  testing::internal::CaptureStderr();  // warnings of tokens that a normalizer leaves nothing of
  for (int i = 0; i < 3000; ++i) {
    const std::string json = fmt::format(
        R"({{"version":"1.0","added_tokens":{},"normalizer":{},"pre_tokenizer":{},"post_processor":null,)"
        R"("decoder":null,"model":{}}})",
        added_tokens(random), some(random, kNormalizers, "normalizers", 3),
        some(random, kPreTokenizers, "pretokenizers", 3), model(random));
    const Tokenizer t = Tokenizer::from_json(json);
    for (int j = 0; j < 12; ++j) {
      const std::string text = random.of(atoms, 8);
      for (const auto in_text : {SpecialInText::Recognised, SpecialInText::Ordinary}) {
        const Ids slow = t.encode(text, false, in_text).ids;
        for (const bool cache : {false, true}) {
          Ids fast;
          t.encode_ids(text, fast, false, in_text, cache);
          ASSERT_EQ(fast, slow) << json_string(text) << " in " << json;
        }
      }
    }
  }
  testing::internal::GetCapturedStderr();
}

TEST(FastEncoder, KnowsWhichPiecesCameFromTheFirstCharacter) {  // the ids are those of `tokenizers` 0.22.2
  const Tokenizer t = Tokenizer::from_json(
      R"({"version":"1.0","added_tokens":[],"normalizer":{"type":"NFKC"},"pre_tokenizer":{"type":"Sequence",)"
      R"("pretokenizers":[{"type":"Digits","individual_digits":true},)"
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]},"post_processor":null,"decoder":null,)"
      R"("model":{"type":"WordLevel","unk_token":"<unk>","vocab":)"
      R"({"<unk>":0,"1":1,"2":2,"▁1":3,"▁2":4,"3":5}}})");
  const auto ids_of = [&](std::string_view text) {
    Ids ids;
    t.encode_ids(text, ids);
    EXPECT_EQ(ids, t.encode(text).ids);
    return ids;
  };
  EXPECT_EQ(ids_of("⑫3"), Ids({3, 4, 5}));  // ▁1 ▁2 3
  EXPECT_EQ(ids_of("½"), Ids({3, 0, 4}));
  EXPECT_EQ(ids_of("123"), Ids({3, 2, 5}));
}

}  // namespace
}  // namespace bora::tokenize
