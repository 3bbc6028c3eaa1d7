// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Pairs, truncation, padding, and the pre-tokenizers, decoders and post-processors of BERT's kind. Expected
// values are those of `tokenizers` 0.22.2.
#include "bora/tokenize/post/framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/post/decoder.h"
#include "bora/tokenize/pretokenize/pre_tokenizer.h"

namespace bora::tokenize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<std::int32_t>;

/// Words a, b, c, d are 1 to 4; X, Y, Z are 5 to 7.
std::string words(const std::string& post, const std::string& truncation = "null",
                  const std::string& padding = "null") {
  return R"({"version":"1.0","truncation":)" + truncation + ",\"padding\":" + padding +
         R"(,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":)" +
         post +
         R"(,"decoder":null,"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1,"b":2,"c":3,"d":4,)"
         R"("X":5,"Y":6,"Z":7}}})";
}

const std::string kBert = R"({"type":"BertProcessing","sep":["Y",6],"cls":["X",5]})";
const std::string kTemplate =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
    R"("pair":[{"Sequence":{"id":"B","type_id":2}},{"SpecialToken":{"id":"Y","type_id":1}},{"Sequence":{"id":"A","type_id":3}}],)"
    R"("special_tokens":{"X":{"id":"X","ids":[5],"tokens":["X"]},"Y":{"id":"Y","ids":[6,7],"tokens":["Y","Z"]}}})";

FramedEncoding framed(const std::string& json, const TextPair& text, const FrameOptions& options = {}) {
  return frame(Tokenizer::from_json(json), text, options);
}

std::string framing_error(const std::string& json, const TextPair& text) {
  try {
    framed(json, text);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Frame, PairsOfBert) {
  const auto one = framed(words(kBert), {"a b"});
  EXPECT_EQ(one.ids, (Ids{5, 1, 2, 6}));
  EXPECT_EQ(one.type_ids, (Ids{0, 0, 0, 0}));
  const auto two = framed(words(kBert), {"a b", "c"});
  EXPECT_EQ(two.ids, (Ids{5, 1, 2, 6, 3, 6}));
  EXPECT_EQ(two.type_ids, (Ids{0, 0, 0, 0, 1, 1}));
  EXPECT_THAT(two.texts, ElementsAre(-1, 0, 0, -1, 1, -1));
  EXPECT_EQ(two.offsets[2], (CodePointSpan{2, 3}));
  EXPECT_EQ(two.offsets[4], (CodePointSpan{0, 1}));
  FrameOptions bare;
  bare.add_special = false;
  EXPECT_EQ(framed(words(kBert), {"a b", "c"}, bare).ids, (Ids{1, 2, 3}));
  EXPECT_EQ(framed(words(kBert), {"a b", "c"}, bare).type_ids, (Ids{0, 0, 1}));
}

TEST(Frame, PairsOfRoberta) {
  const auto two = framed(words(R"({"type":"RobertaProcessing","sep":["Y",6],"cls":["X",5]})"), {"a", "c"});
  EXPECT_EQ(two.ids, (Ids{5, 1, 6, 6, 3, 6}));
  EXPECT_EQ(two.type_ids, (Ids{0, 0, 0, 0, 0, 0}));
}

TEST(Frame, PairsOfTemplates) {
  EXPECT_EQ(framed(words(kTemplate), {"a"}).ids, (Ids{5, 1}));
  const auto two = framed(words(kTemplate), {"a b", "c"});
  EXPECT_EQ(two.ids, (Ids{3, 6, 7, 1, 2}));
  EXPECT_EQ(two.type_ids, (Ids{2, 1, 1, 3, 3}));
  EXPECT_THAT(two.texts, ElementsAre(1, -1, -1, 0, 0));
}

TEST(Frame, WithoutPostProcessor) {
  const auto two = framed(words("null"), {"a b", "c"});
  EXPECT_EQ(two.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(two.type_ids, (Ids{0, 0, 1}));
}

TEST(Frame, Sequences) {
  const auto sequence = [&](const std::string& first, const std::string& second) {
    return words(R"({"type":"Sequence","processors":[)" + first + "," + second + "]}");
  };
  EXPECT_EQ(framed(sequence(kBert, kTemplate), {"a", "c"}).ids, (Ids{3, 6, 6, 7, 5, 1, 6}));
  // After a template there are as many parts as it has pieces.
  EXPECT_EQ(framed(sequence(kTemplate, kBert), {"a"}).ids, (Ids{5, 5, 6, 1, 6}));
  EXPECT_EQ(Tokenizer::from_json(sequence(kTemplate, kBert)).encode("a").ids, (Ids{5, 5, 6, 1, 6}));
  EXPECT_EQ(framing_error(sequence(kTemplate, kTemplate), {"a", "b"}),
            "frame: a TemplateProcessing of the tokenizer's Sequence gets more than two parts");
}

std::string truncation(const std::string& strategy, int length, int stride = 0,
                       const std::string& direction = "Right") {
  return R"({"direction":")" + direction + R"(","max_length":)" + std::to_string(length) +
         R"(,"strategy":")" + strategy + R"(","stride":)" + std::to_string(stride) + "}";
}

TEST(Frame, TruncationKeepsTheRest) {
  const auto e = framed(words(kBert, truncation("LongestFirst", 5, 1)), {"a b c d a"});
  EXPECT_EQ(e.ids, (Ids{5, 1, 2, 3, 6}));
  ASSERT_EQ(e.overflow.size(), 1u);
  EXPECT_EQ(e.overflow[0].ids, (Ids{5, 3, 4, 1, 6}));
  EXPECT_EQ(e.overflow[0].offsets[1], (CodePointSpan{4, 5}));
  const auto left = framed(words(kBert, truncation("LongestFirst", 5, 0, "Left")), {"a b c d a"});
  EXPECT_EQ(left.ids, (Ids{5, 3, 4, 1, 6}));
  EXPECT_EQ(left.overflow.at(0).ids, (Ids{5, 1, 2, 6}));
  FrameOptions whole;
  whole.truncate = false;
  EXPECT_EQ(framed(words(kBert, truncation("LongestFirst", 5)), {"a b c d a"}, whole).ids.size(), 7u);
}

TEST(Frame, TruncationOfPairs) {
  const TextPair text{"a b c d a b", "c d"};
  EXPECT_EQ(framed(words(kBert, truncation("LongestFirst", 7)), text).ids, (Ids{5, 1, 2, 6, 3, 4, 6}));
  EXPECT_EQ(framed(words(kBert, truncation("OnlyFirst", 9)), text).ids, (Ids{5, 1, 2, 3, 4, 6, 3, 4, 6}));
  EXPECT_EQ(framed(words(kBert, truncation("OnlySecond", 10)), text).ids,
            (Ids{5, 1, 2, 3, 4, 1, 2, 6, 3, 6}));
  EXPECT_EQ(framed(words(kBert, truncation("LongestFirst", 3)), text).ids, (Ids{5, 6, 6}));
}

TEST(Frame, TruncationErrors) {
  const TextPair text{"a b c d a b", "c d"};
  EXPECT_EQ(framing_error(words(kBert, truncation("LongestFirst", 2)), text),
            "frame: truncation to 2 tokens, but the post-processor alone adds 3");
  EXPECT_EQ(framing_error(words(kBert, truncation("LongestFirst", 5, 2)), text),
            "frame: truncation with a stride of 2 leaves nothing of the 1 tokens there is room for");
  EXPECT_EQ(
      framing_error(words(kBert, truncation("OnlySecond", 5)), text),
      "frame: 6 of 8 tokens are too many, but the text to be cut has 2\nhint: set the truncation strategy to "
      "LongestFirst");
  EXPECT_EQ(framing_error(words(kBert, truncation("OnlySecond", 4)), {"a b c"}),
            "frame: truncation is OnlySecond, but there is one text of 3 tokens and room for 2");
  EXPECT_EQ(framing_error(words(kBert, truncation("Longest", 4)), {"a"}),
            "tokenizer.json: truncation.strategy should be \"LongestFirst\", \"OnlyFirst\" or \"OnlySecond\" "
            "but is "
            "\"Longest\"");
  EXPECT_EQ(framing_error(words(kBert, truncation("OnlyFirst", -4)), {"a"}),
            "tokenizer.json: truncation.max_length is -4; it should be from 0 to 2147483647");
}

std::string padding(const std::string& strategy, const std::string& direction, const std::string& multiple) {
  return R"({"strategy":)" + strategy + R"(,"direction":")" + direction + R"(","pad_to_multiple_of":)" +
         multiple + R"(,"pad_id":7,"pad_type_id":9,"pad_token":"Z"})";
}

TEST(Frame, PaddingToTheLongest) {
  const Tokenizer t =
      Tokenizer::from_json(words(kBert, "null", padding(R"("BatchLongest")", "Right", "null")));
  const std::vector<TextPair> texts = {{"a b c"}, {"d"}};
  const auto batch = frame_batch(t, texts);
  EXPECT_EQ(batch[0].ids, (Ids{5, 1, 2, 3, 6}));
  EXPECT_EQ(batch[1].ids, (Ids{5, 4, 6, 7, 7}));
  EXPECT_EQ(batch[1].type_ids, (Ids{0, 0, 0, 9, 9}));
  EXPECT_THAT(batch[1].is_padding, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(batch[1].texts, ElementsAre(-1, 0, -1, -1, -1));
  FrameOptions bare;
  bare.pad = false;
  EXPECT_EQ(frame_batch(t, texts, bare)[1].ids, (Ids{5, 4, 6}));
  EXPECT_THAT(frame_batch(t, {}), IsEmpty());
}

TEST(Frame, PaddingToALength) {
  EXPECT_EQ(framed(words(kBert, "null", padding(R"({"Fixed":5})", "Left", "null")), {"a"}).ids,
            (Ids{7, 7, 5, 1, 6}));
  EXPECT_EQ(framed(words(kBert, "null", padding(R"("BatchLongest")", "Right", "4")), {"a"}).ids,
            (Ids{5, 1, 6, 7}));
  EXPECT_EQ(framing_error(words(kBert, "null", padding("\"Longest\"", "Right", "null")), {"a"}),
            "tokenizer.json: padding.strategy should be \"BatchLongest\" or {\"Fixed\": COUNT}");
  EXPECT_EQ(framing_error(words(kBert, "null", padding("\"BatchLongest\"", "Up", "null")), {"a"}),
            "tokenizer.json: padding.direction should be \"Left\" or \"Right\" but is \"Up\"");
}

TEST(Frame, SettingsAreSaved) {
  const std::string json =
      words(kTemplate, truncation("OnlyFirst", 9, 2, "Left"), padding(R"({"Fixed":5})", "Left", "8"));
  const Tokenizer t = Tokenizer::from_json(json);
  t.save(testing::TempDir() + "/framing_saved");
  const Tokenizer again = Tokenizer::load(testing::TempDir() + "/framing_saved");
  EXPECT_EQ(again.fingerprint(), t.fingerprint());
  EXPECT_EQ(frame(again, {"a b", "c"}).ids, frame(t, {"a b", "c"}).ids);
}

TEST(Frame, PairsNeedATemplate) {
  const std::string post =
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}})";
  EXPECT_EQ(framed(words(post), {"a"}).ids, (Ids{1}));
  EXPECT_EQ(framing_error(words(post), {"a", "b"}),
            "frame: the tokenizer's TemplateProcessing has no template for two texts");
}

// ---- pre-tokenizers ----

std::vector<std::string> pieces(const std::string& json, std::string_view text) {
  const JsonDocument document(json, "test");
  const auto pre = read_pre_tokenizer(document.root());
  std::string written;
  pre->write(written);
  EXPECT_EQ(written, json);
  PreText cut{AlignedText(text, 0, true), {{0, text.size()}}};
  pre->apply(cut, true);
  std::vector<std::string> out;
  for (const ByteRange& r : cut.pieces) out.push_back(cut.text.text().substr(r.begin, r.size()));
  return out;
}

TEST(PreTokenizerBert, CutsAtSpacesAndPunctuation) {
  EXPECT_THAT(pieces(R"({"type":"BertPreTokenizer"})", "Hey, you!?\u3000é«$"),
              ElementsAre("Hey", ",", "you", "!", "?", "é", "«", "$"));
}

TEST(PreTokenizerUnicodeScripts, SpacesGoWithWhatIsBefore) {
  const std::string scripts = R"({"type":"UnicodeScripts"})";
  EXPECT_THAT(pieces(scripts, "どこで生れ。Yes"), ElementsAre("どこで生れ", "。", "Yes"));
  EXPECT_THAT(pieces(scripts, "Apples are りんご 林檎"), ElementsAre("Apples are ", "りんご 林檎"));
  EXPECT_THAT(pieces(scripts, "  ab 1"), ElementsAre("ab ", "1"));
  EXPECT_THAT(pieces(scripts, "  "), IsEmpty());
}

TEST(PreTokenizerFixedLength, CountsCharacters) {
  EXPECT_THAT(pieces(R"({"type":"FixedLength","length":3})", "aébc中d"), ElementsAre("aéb", "c中d"));
  EXPECT_THAT(pieces(R"({"type":"FixedLength","length":5})", "abcdefg"), ElementsAre("abcde", "fg"));
  const JsonDocument document(R"({"type":"FixedLength","length":0})", "test");
  try {
    read_pre_tokenizer(document.root());
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "test: length is 0; it should be 1 or more");
  }
}

// ---- decoders ----

std::string decoded(const std::string& json, std::vector<std::string> tokens) {
  const JsonDocument document(json, "test");
  const auto decoder = read_decoder(document.root());
  std::string written, out;
  decoder->write(written);
  EXPECT_EQ(written, json);
  decoder->apply(tokens);
  for (const auto& t : tokens) out += t;
  return out;
}

TEST(DecoderWordPiece, JoinsAndCleansUp) {
  const std::vector<std::string> tokens = {"##he", "##llo", "wor", "##ld", "!", "do", "n't", "'s", " do not"};
  EXPECT_EQ(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":false})", tokens),
            "##hello world ! do n't 's  do not");
  EXPECT_EQ(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":true})", tokens),
            "##hello world! don't's  don't");
  const JsonDocument document(R"({"type":"WordPiece","prefix":"##","cleanup":true})", "test");
  EXPECT_EQ(read_decoder(document.root())->alone("##ld"), "ld");
  EXPECT_EQ(read_decoder(document.root())->alone("x"), " x");
}

TEST(DecoderCtc, DropsRepeatsAndBlanks) {
  const std::vector<std::string> tokens = {"<pad>", "<pad>", "h", "e", "e", "l", "l",
                                           "<pad>", "l",     "o", "o", "|", "|", "w"};
  EXPECT_EQ(
      decoded(R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true})", tokens),
      "hello w");
  EXPECT_EQ(
      decoded(R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":false})", tokens),
      "hello|w");
}

}  // namespace
}  // namespace bora::tokenize
