// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The stages one by one. Expected values are those of `tokenizers` 0.22.2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/added_tokens.h"
#include "bora/tokenize/normalize/normalizer.h"
#include "bora/tokenize/post/decoder.h"
#include "bora/tokenize/pretokenize/pre_tokenizer.h"
#include "bora/tokenize/pretokenize/scanner.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {
namespace {

using testing::ElementsAre;
using Texts = std::vector<std::string>;

// ---- normalizers ----

std::string normalized(const std::string& json, std::string_view text) {
  const JsonDocument document(json, "test");
  const auto normalizer = read_normalizer(document.root());
  AlignedText tracked(text, 0, true), plain(text, 0, false);
  normalizer->apply(tracked);
  normalizer->apply(plain);
  EXPECT_EQ(tracked.text(), plain.text());
  if (normalizer->leaves(text)) {
    EXPECT_EQ(plain.text(), text);
  }
  return plain.text();
}

TEST(Normalizer, UnicodeForms) {
  const auto form = [](const std::string& name, std::string_view text) {
    return normalized(R"({"type":")" + name + "\"}", text);
  };
  EXPECT_EQ(form("NFC", "e\u0301"), "\u00e9");
  EXPECT_EQ(form("NFD", "\u00e9"), "e\u0301");
  EXPECT_EQ(form("NFKC", "\ufb01\u2460 \u00bd"), "fi1 1\u20442");
  EXPECT_EQ(form("NFKD", "\u1e9b\u0323"), "s\u0323\u0307");
  EXPECT_EQ(form("NFC", "\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(form("NFC", "\u212b \u2126"), "\u00c5 \u03a9");
  EXPECT_EQ(form("NFC", "q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(form("NFC", "plain text, stays"), "plain text, stays");
  EXPECT_EQ(form("NFC", ""), "");
}

TEST(Normalizer, OthersAndSequence) {
  EXPECT_EQ(normalized(R"({"type":"Lowercase"})", "\u0130\u00c9A"), "i\u0307\u00e9a");
  EXPECT_EQ(normalized(R"({"type":"Strip","strip_left":true,"strip_right":false})", " \u3000a "), "a ");
  EXPECT_EQ(normalized(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a\n "), " a");
  EXPECT_EQ(normalized(R"({"type":"Prepend","prepend":"▁"})", "a"), "▁a");
  EXPECT_EQ(normalized(R"({"type":"Prepend","prepend":"▁"})", ""), "");
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "})", "a \t\nb"), "a b");
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"String":""},"content":"-"})", "ab"), "-a-b-");
  EXPECT_EQ(normalized(R"({"type":"Replace","pattern":{"Regex":"b*"},"content":""})", "abc"), "ac");
  EXPECT_EQ(normalized(R"({"type":"ByteLevel"})", " \u00e9"), "\u0120\u00c3\u00a9");
  EXPECT_EQ(
      normalized(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"Lowercase"}]})", "\u00c9"),
      "e\u0301");
}

TEST(Normalizer, AlignmentFollowsComposition) {
  const JsonDocument document(R"({"type":"NFC"})", "test");
  AlignedText text("xe\u0301y", 10, true);
  read_normalizer(document.root())->apply(text);
  EXPECT_EQ(text.origin({0, 1}), (ByteRange{10, 11}));
  EXPECT_EQ(text.origin({1, 3}), (ByteRange{11, 12}));  // the first of what was composed
  EXPECT_EQ(text.origin({3, 4}), (ByteRange{14, 15}));
}

// ---- pre-tokenizers ----

Texts pieces_of(const std::string& json, std::string_view text) {
  const JsonDocument document(json, "test");
  PreText pre{AlignedText(text, 0, true), {{0, text.size()}}};
  read_pre_tokenizer(document.root())->apply(pre, true);
  Texts out;
  for (const ByteRange& r : pre.pieces) out.push_back(pre.text.text().substr(r.begin, r.size()));
  return out;
}

TEST(PreTokenizer, SplitBehaviors) {
  const auto split = [](const std::string& behavior, std::string_view text) {
    return pieces_of(R"({"type":"Split","pattern":{"String":"-"},"behavior":")" + behavior + "\"}", text);
  };
  EXPECT_THAT(split("Removed", "the-final--countdown"), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("Isolated", "the-final--countdown"),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split("MergedWithPrevious", "the-final--countdown"),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split("MergedWithNext", "the-final--countdown"),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(split("Contiguous", "the-final--countdown"),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split("MergedWithNext", "-"), ElementsAre("-"));
}

TEST(PreTokenizer, SplitInverted) {
  EXPECT_THAT(pieces_of(R"({"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Removed","invert":true})",
                        "a, bc!"),
              ElementsAre("a", "bc"));
}

TEST(PreTokenizer, ByteLevel) {
  EXPECT_THAT(pieces_of(R"({"type":"ByteLevel","add_prefix_space":true})", "Hello it's\u00e9  "),
              ElementsAre("ĠHello", "Ġit", "'s", "\u00c3\u00a9", "ĠĠ"));
  EXPECT_THAT(pieces_of(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})", "a b"),
              ElementsAre("aĠb"));
}

TEST(PreTokenizer, Metaspace) {
  EXPECT_THAT(pieces_of(R"({"type":"Metaspace","replacement":"▁"})", "Hey  you"),
              ElementsAre("▁Hey", "▁", "▁you"));
  EXPECT_THAT(pieces_of(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", "Hey you"),
              ElementsAre("Hey", "▁you"));
  EXPECT_THAT(
      pieces_of(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false})", "a b"),
      ElementsAre("▁a▁b"));
  EXPECT_THAT(
      pieces_of(R"({"type":"Metaspace","replacement":"▁","str_rep":"▁","add_prefix_space":false})", "a"),
      ElementsAre("a"));
}

TEST(PreTokenizer, Classes) {
  EXPECT_THAT(pieces_of(R"({"type":"Digits","individual_digits":true})", "a12½"),
              ElementsAre("a", "1", "2", "½"));
  EXPECT_THAT(pieces_of(R"({"type":"Digits","individual_digits":false})", "a12b"),
              ElementsAre("a", "12", "b"));
  EXPECT_THAT(pieces_of(R"({"type":"Punctuation"})", "a,«b»$"), ElementsAre("a", ",", "«", "b", "»", "$"));
  EXPECT_THAT(pieces_of(R"({"type":"Whitespace"})", "Hey, you_2!?"), ElementsAre("Hey", ",", "you_2", "!?"));
  EXPECT_THAT(pieces_of(R"({"type":"WhitespaceSplit"})", " Hey,\u3000you "), ElementsAre("Hey,", "you"));
  EXPECT_THAT(pieces_of(R"({"type":"CharDelimiterSplit","delimiter":"é"})", "aébéc"),
              ElementsAre("a", "b", "c"));
}

TEST(PreTokenizer, Sequence) {  // Falcon's: digits after ByteLevel see its alphabet
  EXPECT_THAT(
      pieces_of(R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},)"
                R"({"type":"ByteLevel","add_prefix_space":false},{"type":"Digits"},)"
                R"({"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated"}]})",
                "a 12345!?"),
      ElementsAre("a", "Ġ", "123", "45", "!?"));
}

// ---- patterns and Unicode ----

TEST(Pattern, MatchesLikeOniguruma) {
  EXPECT_FALSE(Pattern::regex(R"(\s)", "t").find("\u180e", 0));
  EXPECT_TRUE(Pattern::regex(R"(\w)", "t").find("\u00b2", 0));
  EXPECT_TRUE(Pattern::regex(R"(^\p{L}+$)", "t").find("a\U0002EBF0", 0));  // a letter since Unicode 15.1
  EXPECT_TRUE(Pattern::regex(R"(^[^\P{Lu}]$)", "t").find("A", 0));
}

TEST(Pattern, EmptyMatches) {
  const auto parts = Pattern::regex("(?=b)|c", "t").parts("abcb");
  EXPECT_THAT(parts,
              ElementsAre(PatternPart{{0, 1}, false}, PatternPart{{1, 1}, true}, PatternPart{{1, 2}, false},
                          PatternPart{{2, 3}, true}, PatternPart{{3, 4}, false}));
  EXPECT_EQ(Pattern::literal("").replace("ab", "x"), "xaxbx");
  EXPECT_EQ(Pattern::literal("").replace("", "x"), "");
  EXPECT_EQ(Pattern::regex("y*", "t").replace("", "x"), "");
  EXPECT_EQ(Pattern::regex("y*", "t").replace("ayb", "x"), "xaxbx");
}

TEST(Pattern, GivesUpOnRunawayRegexes) {
  const std::string text = std::string(80, 'a') + "b";
  try {
    Pattern::regex("(a|aa)+$", "t").find(text, 0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_STREQ(e.what(), "tokenizer: the regex \"(a|aa)+$\" gave up at byte 0 of 81: match limit exceeded");
  }
}

TEST(Unicode, LossyTakesMaximalParts) {
  EXPECT_EQ(utf8_lossy("a\xF0\x90\x80z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(utf8_lossy("\xF4\x90\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(utf8_lossy("\xE0\x9F"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(utf8_lossy("\u00e9"), "\u00e9");
}

TEST(Unicode, ByteAlphabetGoesBothWays) {
  std::string all, spelled, back;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  append_in_alphabet(spelled, all);
  EXPECT_TRUE(bytes_from_alphabet(spelled, back));
  EXPECT_EQ(back, all);
  EXPECT_FALSE(bytes_from_alphabet("a b", back));
  EXPECT_EQ(back, all);
}

// ---- added tokens ----

struct Shown {
  std::string text;
  std::int32_t id;
  bool operator==(const Shown&) const = default;
};

std::vector<Shown> shown(const AddedTokens& tokens, std::string_view text, bool normalized = false,
                         SpecialInText in_text = SpecialInText::Recognised) {
  std::vector<AddedPart> parts;
  tokens.split(text, normalized, in_text, parts);
  std::vector<Shown> out;
  for (const AddedPart& p : parts)
    out.push_back({std::string(text.substr(p.range.begin, p.range.size())), p.id});
  return out;
}

AddedTokens added(std::vector<AddedToken> list, const Normalizer* normalizer = nullptr) {
  AddedTokens tokens;
  for (auto& t : list) tokens.add(std::move(t));
  tokens.index(normalizer);
  return tokens;
}

TEST(AddedTokens, LeftmostLongest) {
  const auto tokens = added({{1, "ab"}, {2, "abc"}, {3, "bcd"}, {4, "c"}});
  EXPECT_THAT(shown(tokens, "xabcd"), ElementsAre(Shown{"x", -1}, Shown{"abc", 2}, Shown{"d", -1}));
  EXPECT_THAT(shown(tokens, "abab"), ElementsAre(Shown{"ab", 1}, Shown{"ab", 1}));
}

TEST(AddedTokens, SpecialOnesAsOrdinaryText) {
  AddedToken special{1, "<end>"}, inside{2, "end"}, strips{3, "<m>"};
  special.special = strips.special = true;
  strips.lstrip = strips.rstrip = true;
  const auto tokens = added({special, inside, strips});
  EXPECT_THAT(shown(tokens, "end<end>", false), ElementsAre(Shown{"end", 2}, Shown{"<end>", 1}));
  const auto ordinary = [&](std::string_view text) {
    return shown(tokens, text, false, SpecialInText::Ordinary);
  };
  EXPECT_THAT(ordinary("x end <end>"), ElementsAre(Shown{"x ", -1}, Shown{"end", 2}, Shown{" <end>", -1}));
  EXPECT_THAT(ordinary("a <m> b"), ElementsAre(Shown{"a <m> b", -1}));
  EXPECT_THAT(ordinary("<end>end"), ElementsAre(Shown{"<end>", -1}, Shown{"end", 2}));
}

TEST(AddedTokens, StripsAndSingleWords) {
  AddedToken strips{1, "<m>"}, word{2, "ing"};
  strips.lstrip = strips.rstrip = true;
  word.single_word = true;
  const auto tokens = added({strips, word});
  EXPECT_THAT(shown(tokens, "a  <m> \nb"), ElementsAre(Shown{"a", -1}, Shown{"  <m> \n", 1}, Shown{"b", -1}));
  EXPECT_THAT(shown(tokens, "sing ing."), ElementsAre(Shown{"sing ", -1}, Shown{"ing", 2}, Shown{".", -1}));
  EXPECT_THAT(shown(tokens, "<m> <m>"), ElementsAre(Shown{"<m> ", 1}, Shown{"<m>", 1}));
}

TEST(AddedTokens, NormalizedOnesAreNormalized) {
  const JsonDocument document(R"({"type":"Lowercase"})", "test");
  const auto lower = read_normalizer(document.root());
  AddedToken token{5, "<S>"};
  token.normalized = true;
  const auto tokens = added({token}, lower.get());
  EXPECT_TRUE(shown(tokens, "<S>").front().id == -1);
  EXPECT_THAT(shown(tokens, "<s>", true), ElementsAre(Shown{"<s>", 5}));
}

TEST(AddedTokens, TheFirstOfTwoThatAreNormalizedAlike) {
  const JsonDocument document(R"({"type":"Lowercase"})", "test");
  const auto lower = read_normalizer(document.root());
  AddedToken plain{5, "<a>"}, special{6, "<A>"};
  plain.normalized = special.normalized = special.special = true;
  EXPECT_THAT(shown(added({plain, special}, lower.get()), "<a>", true), ElementsAre(Shown{"<a>", 6}));
}

TEST(AddedTokens, WarnOfATokenThatIsNormalizedToNothing) {
  const JsonDocument strip(R"({"type":"Strip","strip_left":true,"strip_right":true})", "test");
  const auto normalizer = read_normalizer(strip.root());
  Vocabulary vocabulary;
  vocabulary.add("a", 0);
  const JsonDocument document(
      R"([{"id":1,"content":"\n","normalized":true},{"id":2,"content":" ","normalized":false}])",
      "tokenizer.json");
  testing::internal::CaptureStderr();
  const auto tokens = AddedTokens::read(document.root(), vocabulary, normalizer.get());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "bora: warning: tokenizer.json: the normalizer leaves nothing of \"\\n\"; it is never found in a text\n"
      "      hint: give it \"normalized\": false\n");
  EXPECT_FALSE(tokens.any(true));
  EXPECT_THAT(shown(tokens, "a "), ElementsAre(Shown{"a", -1}, Shown{" ", 2}));
}

TEST(AddedTokens, WarnOfAnotherId) {
  Vocabulary vocabulary;
  vocabulary.add("a", 0);
  const JsonDocument document(R"([{"id":9,"content":"<x>"}])", "tokenizer.json");
  testing::internal::CaptureStderr();
  EXPECT_EQ(AddedTokens::read(document.root(), vocabulary, nullptr).find("<x>")->id, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "bora: warning: tokenizer.json: [0]: \"<x>\" gets id 1, as in `tokenizers`, not 9\n");
}

TEST(AddedTokens, GetTheNextFreeId) {
  Vocabulary vocabulary;
  vocabulary.add("a", 0);
  vocabulary.add("b", 1);
  const JsonDocument document(R"([{"id":2,"content":"<x>"},{"id":1,"content":"b"},{"id":3,"content":"<y>"}])",
                              "t");
  const auto tokens = AddedTokens::read(document.root(), vocabulary, nullptr);
  EXPECT_EQ(tokens.find("<x>")->id, 2);
  EXPECT_EQ(tokens.find("b")->id, 1);
  EXPECT_EQ(tokens.find("<y>")->id, 3);
  EXPECT_EQ(tokens.find("<z>"), nullptr);
}

// ---- decoders ----

std::string decoded_by(const std::string& json, Texts tokens) {
  const JsonDocument document(json, "test");
  read_decoder(document.root())->apply(tokens);
  std::string out;
  for (const auto& t : tokens) out += t;
  return out;
}

TEST(Decoder, Each) {
  EXPECT_EQ(decoded_by(R"({"type":"ByteLevel"})", {"Ġa", "\u00c3", "\u00a9", "<x y>", "\u00e2"}),
            " aé<x y>\ufffd");
  EXPECT_EQ(decoded_by(R"({"type":"ByteFallback"})", {"<0xC3>", "<0xA9>", "a", "<0xC3>", "<0x41>", "<0xG1>"}),
            "éa\ufffd\ufffd<0xG1>");
  EXPECT_EQ(decoded_by(R"({"type":"Strip","content":"_","start":1,"stop":2})", {"__a___", "_"}), "_a_");
  EXPECT_EQ(decoded_by(R"({"type":"Metaspace","replacement":"▁"})", {"▁a", "▁b"}), "a b");
  EXPECT_EQ(decoded_by(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {"▁a", "▁b"}),
            " a b");
  EXPECT_EQ(decoded_by(R"({"type":"BPEDecoder","suffix":"</w>"})", {"a</w>", "b", "c</w>"}), "a bc");
  EXPECT_EQ(decoded_by(
                R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
                R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
                {"▁a", "▁b"}),
            "a b");
}

}  // namespace
}  // namespace bora::tokenize
