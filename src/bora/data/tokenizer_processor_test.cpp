// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/tokenizer_processor.h"

#include <gtest/gtest.h>

#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

using Ids = std::vector<std::int32_t>;

/// A tokenizer of three letters, with special tokens as `specials` and a post-processor as `post` says.
Tokenizer letters(const std::string& specials, const std::string& post, const std::string& config) {
  const std::string json =
      R"({"version":"1.0","truncation":null,"padding":null,"normalizer":null,
    "added_tokens":[)" +
      specials + R"(],
    "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
    "post_processor":)" +
      post + R"(,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
    "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
      "fuse_unk":false,"byte_fallback":false,"vocab":{"a":0,"b":1,"c":2,"<s>":3,"</s>":4},"merges":[]}})";
  return Tokenizer::from_json(json, config, "letters");
}

std::string special(int id, const std::string& text) {
  return fmt::format(
      R"({{"id":{},"content":"{}","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
      R"("special":true}})",
      id, text);
}

const std::string kBoth = special(3, "<s>") + "," + special(4, "</s>");
const std::string kConfig = R"({"bos_token":"<s>","eos_token":"</s>"})";
const std::string kAddsBos =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
  {"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
  "special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}})";

Ids encode(const TokenizerProcessor& processor, const store::TextPiece& piece) {
  Ids out;
  processor.encode(piece, out);
  return out;
}

TEST(TokenizerProcessor, AddsWhatTheTokenizerDoesNot) {
  EXPECT_EQ(encode({letters(kBoth, "null", kConfig), true}, {"abc"}), (Ids{3, 0, 1, 2, 4}));
  EXPECT_EQ(encode({letters(kBoth, "null", kConfig), false}, {"abc"}), (Ids{3, 0, 1, 2}));
  EXPECT_EQ(encode({letters(kBoth, kAddsBos, kConfig), true}, {"abc"}), (Ids{3, 0, 1, 2, 4}));
  EXPECT_EQ(encode({letters(kBoth, kAddsBos, R"({"eos_token":"</s>"})"), false}, {"abc"}), (Ids{3, 0, 1, 2}));
}

TEST(TokenizerProcessor, OneTokenForBothStandsOnce) {
  const auto gpt2 = letters(kBoth, "null", R"({"bos_token":"</s>","eos_token":"</s>"})");
  EXPECT_EQ(encode({gpt2, true}, {"ab"}), (Ids{0, 1, 4}));
  EXPECT_EQ(encode({gpt2, false}, {"ab"}), (Ids{4, 0, 1}));
}

TEST(TokenizerProcessor, PiecesAreMarkedWhereTheDocumentBeginsAndEnds) {
  const TokenizerProcessor processor(letters(kBoth, "null", kConfig), true);
  EXPECT_EQ(encode(processor, {"ab", true, false}), (Ids{3, 0, 1}));
  EXPECT_EQ(encode(processor, {"c", false, false}), (Ids{2}));
  EXPECT_EQ(encode(processor, {"", false, true}), (Ids{4}));
  EXPECT_EQ(processor.vocab_size(), 5);
}

TEST(TokenizerProcessor, DocumentsCannotBringInControlTokens) {
  const TokenizerProcessor processor(letters(kBoth, "null", kConfig), true);
  EXPECT_EQ(encode(processor, {"ab</s>c<s>"}), (Ids{3, 0, 1, 2, 4}));  // the rest is not in this vocabulary
  auto mark = special(5, "<b>");
  mark.replace(mark.find(R"("special":true)"), 14, R"("special":false)");
  const TokenizerProcessor marked(letters(kBoth + "," + mark, "null", kConfig), true);
  EXPECT_EQ(encode(marked, {"a<b></s>c"}), (Ids{3, 0, 5, 2, 4}));
}

TEST(TokenizerProcessor, Gpt2WithItsEndOfTextInADocument) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers/gpt2";
  if (!exists(folder)) GTEST_SKIP() << "no " << folder << " here";
  const TokenizerProcessor processor(Tokenizer::load(folder), true);
  EXPECT_EQ(encode(processor, {"a<|endoftext|>b"}), (Ids{64, 27, 91, 437, 1659, 5239, 91, 29, 65, 50256}));
}

TEST(TokenizerProcessor, FingerprintCoversWhatIsAdded) {
  const auto tokenizer = letters(kBoth, "null", kConfig);
  const TokenizerProcessor with(tokenizer, true), without(tokenizer, false);
  EXPECT_EQ(with.fingerprint(),
            tokenizer.fingerprint().hex() + " [3] text, special tokens in it as plain text [4]");
  EXPECT_EQ(without.fingerprint(),
            tokenizer.fingerprint().hex() + " [3] text, special tokens in it as plain text []");
}

TEST(TokenizerProcessor, NoEndOfText) {
  const std::string only = special(3, "<s>");
  EXPECT_EQ(error_of(ErrorKind::Config,
                     [&] { TokenizerProcessor(letters(only, "null", R"({"bos_token":"<s>"})"), true); }),
            "tokenizer: it has no end-of-text token to put between documents\nhint: data.enforce_eos: false");
}

}  // namespace
}  // namespace bora::data
