// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Scanners against the regexes they stand for.
#include "bora/tokenize/pretokenize/scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/tokenize/pretokenize/byte_masks.h"

namespace bora::tokenize {
namespace {

using Texts = std::vector<std::string>;

/// Atoms that matter to a pattern, or words with a few of them.
std::string random_text(std::uint32_t& state, std::size_t length) {
  static const Texts words = {"the",    " of",   " and",   " word", "ing", "X",    "Ab",
                              " HTML",  "don't", " we'll", " 2024", ", ",  ". ",   "\n",
                              "\n    ", "\n\n",  "();\n",  " // ",  "é",   "中文", " мир"};
  static const Texts atoms = {"a",      "b",          "s",          "t",      "S",      "re",     "LL",
                              "d",      "A",          "'",          "'",      "\u2019", " ",      " ",
                              "  ",     "\n",         "\r",         "\t",     "1",      "23",     "\u00bd",
                              "\u0664", ".",          ",",          "!",      "-",      "/",      "_",
                              "\u00e9", "\u4e2d",     "\u0301",     "\u017f", "\u212a", "\u00a0", "\u2003",
                              "\u3000", "\u0085",     "\u200b",     "\u01c5", "\u02b0", "\u0416", "\u0e33",
                              "\u0e31", "\U0001F600", "\U00010400", "\u180e"};
  const auto next = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  const std::uint32_t rare = next() % 4;  // none, or one atom in 4, 16, 64 words
  std::string text;
  while (text.size() < length) {
    const bool atom = rare == 0 || next() % (1u << (2 * rare)) == 0;
    text += atom ? atoms[next() % atoms.size()] : words[next() % words.size()];
  }
  return text;
}

std::vector<ByteRange> by_regex(const Pattern& pattern, const std::string& text) {
  std::vector<ByteRange> pieces;
  for (const PatternPart& part : pattern.parts(text)) {
    EXPECT_TRUE(part.match) << text;
    pieces.push_back(part.range);
  }
  return pieces;
}

std::vector<ByteRange> by_hand(const ScanRule& rule, const std::string& text) {
  std::vector<ByteRange> pieces;
  scan(rule, text, pieces);
  return pieces;
}

class ScannerRule : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override { ASSERT_TRUE(rule_); }
  std::optional<ScanRule> rule_ = scan_rule_of(GetParam());
  Pattern pattern_ = Pattern::regex(std::string(GetParam()), "test");
};

TEST_P(ScannerRule, CutsLikeTheRegex) {
  std::uint32_t state = 7;
  for (std::size_t round = 0; round < 12000; ++round) {
    const std::string text = random_text(state, 1 + round % (round % 2 == 0 ? 40 : 400));
    ASSERT_EQ(by_hand(*rule_, text), by_regex(pattern_, text)) << text;
  }
}

TEST_P(ScannerRule, EveryCharacterBetweenOthers) {
  for (const char* around : {"x", "X", " ", "!", "1", "\n"}) {
    std::string text;
    for (char32_t c = 0; c < kCodePoints; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      text += around;
      append_utf8(text, c);
      if (c % 64 != 63) continue;
      text += around;
      ASSERT_EQ(by_hand(*rule_, text), by_regex(pattern_, text)) << static_cast<std::uint32_t>(c);
      text.clear();
      if (c > 0x32000 && c < 0xE0000) c += 0xFFF;  // nothing is assigned there
    }
  }
}

TEST_P(ScannerRule, RunsAreLinear) {
  for (const char* atom : {"a", "A", "1", " ", "\n", "!", "é", "中", "Aa", "a ", " \n", "'s", "中A", "/\n"}) {
    std::string text;
    while (text.size() < 100000) text += atom;
    ASSERT_EQ(by_hand(*rule_, text), by_regex(pattern_, text)) << atom;
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, ScannerRule, testing::ValuesIn(scan_patterns()));

TEST(Scanner, KnowsItsPatternsOnly) {
  EXPECT_EQ(scan_rule_of(kGpt2Pattern), ScanRule{});
  EXPECT_FALSE(scan_rule_of(R"(\s+)"));
}

TEST(Scanner, MasksOfEveryByte) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  const auto of = [](std::uint64_t ByteMasks::*mask, const std::string& text) {
    std::string found;
    for (std::size_t at = 0; at < text.size(); at += 64) {
      for (std::size_t i = 0; i < 64; ++i) {
        if ((byte_masks(text.data() + at).*mask >> i & 1) != 0) found += text[at + i];
      }
    }
    return found;
  };
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  EXPECT_EQ(of(&ByteMasks::upper, bytes), upper);
  EXPECT_EQ(of(&ByteMasks::letter, bytes), upper + "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(of(&ByteMasks::digit, bytes), "0123456789");
  EXPECT_EQ(of(&ByteMasks::space, bytes), "\t\n\v\f\r ");
  EXPECT_EQ(of(&ByteMasks::newline, bytes), "\n\r");
  EXPECT_EQ(of(&ByteMasks::blank, bytes), " ");
  EXPECT_EQ(of(&ByteMasks::quote, bytes), "'");
  EXPECT_EQ(of(&ByteMasks::slash, bytes), "/");
  EXPECT_EQ(of(&ByteMasks::high, bytes), bytes.substr(128));
}

}  // namespace
}  // namespace bora::tokenize
