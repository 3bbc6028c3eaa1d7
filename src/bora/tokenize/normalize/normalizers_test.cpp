// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Nmt, StripAccents, BertNormalizer, Precompiled. Expected values are those of `tokenizers` 0.22.2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bora/base/error.h"
#include "bora/tokenize/formats/sentencepiece_test_util.h"
#include "bora/tokenize/normalize/charsmap.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/normalize/precompiled.h"
#include "bora/unicode/properties.h"

namespace bora::tokenize {
namespace {

using testing::HasSubstr;

std::unique_ptr<const Normalizer> read(const std::string& json) {
  const JsonDocument document(json, "test");
  return read_normalizer(document.root());
}

std::string normal_form(const std::string& json, std::string_view text) {
  const auto normalizer = read(json);
  std::string written;
  normalizer->write(written);
  AlignedText tracked(text, 0, true), plain(text, 0, false), again(text, 0, false);
  normalizer->apply(tracked);
  normalizer->apply(plain);
  read(written)->apply(again);
  EXPECT_EQ(tracked.text(), plain.text());
  EXPECT_EQ(again.text(), plain.text());
  if (normalizer->leaves(text)) {
    EXPECT_EQ(plain.text(), text);
  }
  return plain.text();
}

std::string normalizer_error(const std::string& json) {
  try {
    read(json);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    return e.what();
  }
  return {};
}

TEST(NormalizerNmt, CleansAndMapsSpaces) {
  const std::string nmt = R"({"type":"Nmt"})";
  EXPECT_EQ(normal_form(nmt, "a\tb\nc\x01\x7f\u008f\u009f"), "a b c");
  EXPECT_EQ(normal_form(nmt, "\u200b\u2028▁\ufeff\ufffd"), "     ");
  EXPECT_EQ(normal_form(nmt, "\u00a0\u0085\u2003"), "\u00a0\u0085\u2003");
  EXPECT_EQ(normal_form(nmt, "plain"), "plain");
}

TEST(NormalizerStripAccents, DropsMarksOnly) {
  const std::string strip = R"({"type":"StripAccents"})";
  EXPECT_EQ(normal_form(strip, "e\u0301\u0304o\u0903"), "eo");
  EXPECT_EQ(normal_form(strip, "é"), "é");
  EXPECT_EQ(normal_form(strip, "a\u0898"), "a\u0898");  // newer than the tables of `tokenizers`
}

std::string bert(bool clean, bool chinese, const char* strip, bool lower) {
  const auto word = [](bool b) { return b ? "true" : "false"; };
  return std::string(R"({"type":"BertNormalizer","clean_text":)") + word(clean) +
         ",\"handle_chinese_chars\":" + word(chinese) + ",\"strip_accents\":" + strip +
         ",\"lowercase\":" + word(lower) + "}";
}

TEST(NormalizerBert, EachStage) {
  EXPECT_EQ(normal_form(bert(true, false, "false", false), "a\t\u00a0b\x01\u200d\ufffd\u0378É"),
            "a  b\u0378É");
  EXPECT_EQ(normal_form(bert(false, true, "false", false), "a中b\u3042"), "a 中 b\u3042");
  EXPECT_EQ(normal_form(bert(false, false, "true", false), "ÉÅ\u0903"), "EA\u0903");
  EXPECT_EQ(normal_form(bert(false, false, "false", true), "ÉİX"), "éi\u0307x");
  EXPECT_EQ(normal_form(bert(true, true, "null", true), "Ünï中\n"), "uni 中  ");
  EXPECT_EQ(normal_form(bert(true, true, "null", false), "Ünï"), "Ünï");
  EXPECT_EQ(normal_form(bert(true, true, "null", true), "all plain, here!"), "all plain, here!");
}

TEST(NormalizerBert, HasAnOlderName) {
  EXPECT_EQ(
      normal_form(R"({"type":"Bert","clean_text":true,"handle_chinese_chars":true,"lowercase":true})", "A"),
      "a");
  EXPECT_EQ(normalizer_error(R"({"type":"BertNormalizer"})"), "test: clean_text is missing");
}

TEST(NormalizerBert, AlignmentOfWhatIsInserted) {
  AlignedText text("x中y", 0, true);
  read(bert(false, true, "false", false))->apply(text);
  EXPECT_EQ(text.text(), "x 中 y");
  EXPECT_EQ(text.origin({1, 2}), (ByteRange{1, 4}));
  EXPECT_EQ(text.origin({2, 5}), (ByteRange{1, 4}));
  EXPECT_EQ(text.origin({5, 6}), (ByteRange{1, 4}));
  EXPECT_EQ(text.origin({6, 7}), (ByteRange{4, 5}));
}

TEST(NormalizerBert, KnowsWhereTheTextBegan) {
  AlignedText text(
      "\x01"
      "a",
      0, false);
  read(bert(true, false, "false", false))->apply(text);
  EXPECT_EQ(text.text(), "a");
  EXPECT_FALSE(text.at_start());
}

// ---- charsmaps ----

std::string precompiled(const std::string& charsmap) {
  return R"({"type":"Precompiled","precompiled_charsmap":")" + to_base64(charsmap) + "\"}";
}

TEST(Precompiled, RewritesClustersAndCharacters) {
  const std::string map = make_charsmap({{"™", "TM"},
                                         {"\x1e", ""},
                                         {"\r", " "},
                                         {"\n", " "},
                                         {"a", "b"},
                                         {"é", "e"},
                                         {"o\u0302", "ô"},
                                         {"o", "0"},
                                         {"\u0915", "k"}});
  const std::string json = precompiled(map);
  EXPECT_EQ(normal_form(json, "™\x1eg"), "TMg");
  EXPECT_EQ(normal_form(json, "x\r\ny"), "x y");  // one cluster
  EXPECT_EQ(normal_form(json, "a\u0301"), "b");   // a cluster of 3 bytes: the mark goes as well
  EXPECT_EQ(normal_form(json, "a\u0301\u0302\u0303"), "b\u0301\u0302\u0303");  // longer than 5 bytes
  EXPECT_EQ(normal_form(json, "o\u0302"), "0");                                // the shortest rule
  EXPECT_EQ(normal_form(json, "\u0915\u094d\u0937"), "k\u094d\u0937");
  EXPECT_EQ(normal_form(json, "xyz"), "xyz");
  EXPECT_EQ(normal_form(json, ""), "");
}

TEST(Precompiled, AlignmentOfWhatGrowsAndVanishes) {
  AlignedText text("™\x1eg", 0, true);
  Precompiled(Charsmap(make_charsmap({{"™", "TM"}, {"\x1e", ""}}), "test")).apply(text);
  EXPECT_EQ(text.text(), "TMg");
  EXPECT_EQ(text.origin({0, 1}), (ByteRange{0, 3}));
  EXPECT_EQ(text.origin({1, 2}), (ByteRange{3, 4}));  // as in `tokenizers`: it stands for what vanished
  EXPECT_EQ(text.origin({2, 3}), (ByteRange{4, 5}));
}

TEST(Precompiled, GraphemeClusters) {
  EXPECT_EQ(grapheme_end("ab", 0), 1u);
  EXPECT_EQ(grapheme_end("\r\n", 0), 2u);
  EXPECT_EQ(grapheme_end("e\u0301x", 0), 3u);
  EXPECT_EQ(grapheme_end("\U0001F468\u200d\U0001F469!", 0), 11u);
  EXPECT_EQ(grapheme_end("\U0001F1E6\U0001F1E7\U0001F1E8", 0), 8u);
  EXPECT_EQ(grapheme_end("\u1100\u1161\u11a8x", 0), 9u);
  // Controls that are not assigned yet end a cluster, and none continues them.
  for (const std::string c : {"\U000E00F6", "\u2065", "\uFFF3", "\U000E0000", "\U000E0FFF"}) {
    EXPECT_EQ(grapheme_end(c + "\u200c\u0326", 0), c.size());
    EXPECT_EQ(grapheme_end("a" + c, 0), 1u);
  }
  EXPECT_EQ(grapheme_end("a\U000E0100\U000E0041", 0), 9u);
  // Marks of Unicode 16.
  for (const std::string c : {"\u0897", "\U00010D6C", "\U000113C9", "\U000113E1", "\U0001612A"})
    EXPECT_EQ(grapheme_end("a" + c + "b", 0), 1 + c.size());
  EXPECT_EQ(grapheme_end("\U000113D1ab", 0), 5u);
}

TEST(Charsmap, FindsShortestAndLongest) {
  const Charsmap map(make_charsmap({{"ab", "1"}, {"abcd", "two"}, {"x", ""}}), "test");
  EXPECT_EQ(map.shortest("abcde")->by, "1");
  EXPECT_EQ(map.shortest("abcde")->size, 2u);
  EXPECT_EQ(map.longest("abcde")->by, "two");
  EXPECT_EQ(map.longest("abcx")->by, "1");
  EXPECT_EQ(map.longest("x")->by, "");
  EXPECT_FALSE(map.longest("a"));
  EXPECT_TRUE(map.is_plain('b'));
  EXPECT_FALSE(map.is_plain('a'));
  EXPECT_FALSE(Charsmap().longest("a"));
}

TEST(Charsmap, Base64) {
  for (const std::string text : {"", "a", "ab", "abc", "\xFF\x00\x7F"})
    EXPECT_EQ(from_base64(to_base64(text)), text);
  EXPECT_EQ(to_base64("ab"), "YWI=");
  EXPECT_EQ(from_base64("YWI"), "ab");
  EXPECT_FALSE(from_base64("Y"));
  EXPECT_FALSE(from_base64("YW I="));
}

TEST(Charsmap, Errors) {
  EXPECT_EQ(normalizer_error(R"({"type":"Precompiled","precompiled_charsmap":"*"})"),
            "test: precompiled_charsmap is not base64, or is empty");
  EXPECT_EQ(normalizer_error(R"({"type":"Precompiled","precompiled_charsmap":""})"),
            "test: precompiled_charsmap is not base64, or is empty");
  EXPECT_EQ(normalizer_error(precompiled("ab")),
            "test: precompiled_charsmap: a charsmap of 2 bytes cannot hold a trie of 0");
  EXPECT_EQ(normalizer_error(precompiled(little_endian(4096) + "abcd")),
            "test: precompiled_charsmap: a charsmap of 8 bytes cannot hold a trie of 4096");
  EXPECT_EQ(normalizer_error(precompiled(little_endian(4) + little_endian(0) + "\xFF")),
            "test: precompiled_charsmap: the replacements of the charsmap are not UTF-8");
}

TEST(Charsmap, DamagedTriesStayWithinBounds) {
  const std::string good = make_charsmap({{"ab", "1"}, {"é", "e"}, {"\u4e2d", "zhong"}});
  std::uint32_t state = 3;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525 + 1013904223;
      bytes[4 + (state >> 8) % (bytes.size() - 4)] = static_cast<char>(state >> 24);
    }
    try {
      const Charsmap map(bytes, "test");
      for (const char* text : {"ab", "é", "\u4e2d\u4e2d", "abab", "zzz"}) map.longest(text);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      ++refused;
    }
  }
  std::string bytes = good;
  bytes.resize(bytes.size() - 10);  // a rule points behind the end now
  try {
    Charsmap(bytes, "test").longest("\u4e2d");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("test: a rule of the charsmap points at byte 4 of 0 bytes of replacements"));
  }
}

TEST(TextProperties, AreThoseOfOlderTables) {
  EXPECT_TRUE(has_property(U'$', kPunctuationMark));
  EXPECT_TRUE(has_property(0x166D, kPunctuationMark));   // a symbol since Unicode 12
  EXPECT_FALSE(has_property(0x2E52, kPunctuationMark));  // of Unicode 14
  EXPECT_FALSE(has_property(U'a', kPunctuationMark));
  EXPECT_TRUE(has_property(0xAD, kControl));
  EXPECT_FALSE(has_property(0x378, kControl));  // not assigned
  EXPECT_TRUE(has_property(0x301, kNonspacingMark));
  EXPECT_FALSE(has_property(0x903, kNonspacingMark));
  EXPECT_TRUE(has_property(0x903, kCombiningMark));
  EXPECT_TRUE(is_chinese(0x4E2D));
  EXPECT_FALSE(is_chinese(0x3042));
}

}  // namespace
}  // namespace bora::tokenize
