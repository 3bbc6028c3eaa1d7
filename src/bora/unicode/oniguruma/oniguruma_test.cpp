// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Regexes against what `tokenizers` 0.23.3 makes of them: tests/oniguruma/make_cases.py, make_random_cases.py.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/unicode/code_point_set.h"
#include "bora/unicode/pattern.h"
#include "bora/unicode/unicode.h"

namespace bora {
namespace {

constexpr const char* kFolder = BORA_SOURCE_DIR "/tests/oniguruma/";

std::vector<std::string> pieces_of(const Pattern& pattern, const std::string& text) {
  std::vector<std::string> pieces;
  for (const PatternPart& part : pattern.parts(text)) {
    if (part.range.size() > 0) pieces.push_back(text.substr(part.range.begin, part.range.size()));
  }
  return pieces;
}

TEST(Oniguruma, RecordedCases) {
  std::size_t count = 0;
  for (const std::string& line : split(read_text(std::string(kFolder) + "cases.jsonl"), '\n')) {
    if (line.empty()) continue;
    const Json c = parse_json(line, "cases.jsonl");
    const auto regex = c["regex"].get<std::string>(), text = c["text"].get<std::string>();
    SCOPED_TRACE(regex + " in " + text);
    const Pattern pattern = Pattern::regex(regex, "test");
    EXPECT_EQ(pieces_of(pattern, text), c["pieces"].get<std::vector<std::string>>());
    EXPECT_EQ(pattern.replace(text, "\uFFFC"), c["replaced"].get<std::string>());
    ++count;
  }
  EXPECT_GT(count, 400u);
}

/// Every code point below U+32400, and those of U+E0000 to U+E01FF.
const std::string& characters() {
  static const std::string all = [] {
    std::string text;
    for (char32_t c = 0; c < 0xE0200; ++c) {
      if ((c < 0x32400 && (c < 0xD800 || c >= 0xE000)) || c >= 0xE0000) append_utf8(text, c);
    }
    return text;
  }();
  return all;
}

TEST(Oniguruma, RecordedProperties) {
  for (const std::string& line : split(read_text(std::string(kFolder) + "properties.txt"), '\n')) {
    if (line.empty()) continue;
    const auto regex = fmt::format("[\\p{{{}}}]+", line.substr(0, line.find(' ')));
    std::size_t count = 0;
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const PatternPart& part : Pattern::regex(regex, "test").parts(characters())) {
      for (std::size_t i = part.range.begin; part.match && i < part.range.end; ++count) {
        const CodePoint c = code_point_at(characters().data() + i);
        hash = (hash ^ c.value) * 0x100000001B3;
        i += c.length;
      }
    }
    EXPECT_EQ(fmt::format("{} {} {:016x}", line.substr(0, line.find(' ')), count, hash), line);
  }
}

std::string refusal(const std::string& regex) {
  try {
    (void)Pattern::regex(regex, "pattern");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    const std::string what = e.what();
    const std::string before = "cannot be used: ";
    EXPECT_TRUE(what.starts_with("pattern: the regex \"")) << what;
    const std::size_t begin = what.find(before) + before.size();
    return what.substr(begin, what.find('\n') - begin);
  }
  return "accepted";
}

struct Outcomes {
  int equal = 0, refused = 0, none = 0,
      different = 0;  ///< `none`: refused, and no regex to `tokenizers` either
};

// Whether Bora makes the same of all texts; false where it refuses the regex by name and place.
bool same_as(const Json& c) {
  const auto regex = c["regex"].get<std::string>();
  if (const auto why = refusal(regex); why != "accepted") {
    EXPECT_NE(why.find(" at byte "), why.npos) << regex << ": " << why;
    return false;
  }
  EXPECT_TRUE(c.contains("texts")) << regex << " is none to `tokenizers`";
  const Pattern pattern = Pattern::regex(regex, "test");
  for (const Json& t : c.value("texts", Json::array())) try {
      const auto text = t["text"].get<std::string>();
      SCOPED_TRACE(regex + " in " + text);
      EXPECT_EQ(pieces_of(pattern, text), t["pieces"].get<std::vector<std::string>>());
      EXPECT_EQ(pattern.replace(text, "\uFFFC"), t["replaced"].get<std::string>());
      EXPECT_EQ(pattern.replace(text, ""), t["removed"].get<std::string>());
    } catch (const Error& e) {  // as `tokenizers` does with other regexes
      EXPECT_THAT(e.what(), testing::HasSubstr("match limit exceeded")) << regex;
      return false;
    }
  return true;
}

// A sample; with BORA_ONIGURUMA_CASES what that file has, and a line for each construct of what came of it.
TEST(Oniguruma, RandomCases) {
  const auto other = env::for_tests("BORA_ONIGURUMA_CASES");
  const std::string file = other.value_or(std::string(kFolder) + "random_cases.jsonl");
  std::map<std::string, Outcomes> of_construct;
  Outcomes all;
  for (const std::string& line : split(read_text(file), '\n')) {
    if (line.empty()) continue;
    const Json c = parse_json(line, file);
    const auto failures = [] {
      return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    };
    const int before = failures();
    const bool taken = same_as(c);
    for (Outcomes* to : {&all, &of_construct[c["construct"].get<std::string>()]})
      ++(failures() > before   ? to->different
         : taken               ? to->equal
         : c.contains("texts") ? to->refused
                               : to->none);
  }
  EXPECT_GT(all.equal, 2 * all.refused);
  if (!other) return;
  of_construct["all"] = all;
  for (const auto& [name, n] : of_construct)
    fmt::print("{:20} equal {:6}  refused {:5}  refused by both {:5}  different {}\n", name, n.equal,
               n.refused, n.none, n.different);
}

TEST(Oniguruma, RefusesByNameAndPlace) {
  EXPECT_EQ(refusal("ab\\X"), "the text segment \\X at byte 2");
  EXPECT_EQ(refusal("\\y"), "the text segment \\y at byte 0");
  EXPECT_EQ(refusal("a\\G"), "the place \\G at byte 1");
  EXPECT_EQ(refusal("(a)\\g<1>"), "the call \\g at byte 3");
  EXPECT_EQ(refusal("(?~ab)"), "an absent group (?~ at byte 0");
  EXPECT_EQ(refusal("(a)?(?(1)b|c)"), "a condition (?( at byte 4");
  EXPECT_EQ(refusal("(?{x})"), "a callout (?{ at byte 0");
  EXPECT_EQ(refusal("(*FAIL)"), "a callout (* at byte 0");
  EXPECT_EQ(refusal("(?W:\\w)"), "the option W of (? at byte 0");
  EXPECT_EQ(refusal("\\p{Script=Han}"), "the property Script=Han at byte 0");
  EXPECT_EQ(refusal("a[\\p{In_Hebrew}]"), "the property In_Hebrew at byte 2");
  EXPECT_EQ(refusal("[[:letter:]]"), "the POSIX bracket letter at byte 1");
  EXPECT_EQ(refusal("(?<=b(?>a+))c"), "an atomic group of several lengths in a look-behind at byte 5");
  EXPECT_EQ(refusal("(?<=ba+)c"), "a look-behind without a greatest length at byte 6");
  EXPECT_EQ(refusal("(?<!(a))c"), "a group that remembers in a negative look-behind at byte 0");
  EXPECT_EQ(refusal("(?<=a?\\b)c"), "a place or look in a look-behind of several lengths at byte 6");
  EXPECT_EQ(refusal("x(?<=c|a?b?)c"),
            "parts of several lengths, all of which may be empty, in a look-behind at byte 7");
  EXPECT_EQ(refusal("(?<=(?:a?b?)c)(?<=a?)"), "accepted");
  EXPECT_EQ(refusal("(?>(?=b)\\b(?m:.+)c)"), "a look-ahead before (?m:.*) at the beginning at byte 3");
  EXPECT_EQ(refusal("(?=b)(?m:.*?)(?=b).*|(?=b)(?m:.*)"), "accepted");
  EXPECT_EQ(refusal("(?=a\\K)"), "\\K in a look-ahead or look-behind at byte 4");
  EXPECT_EQ(refusal("\\cA"), "the control character \\c at byte 0");
  EXPECT_EQ(refusal("\\xFF"), "bytes that are no character at byte 0");
  EXPECT_EQ(refusal("\\uD800"), "a number that is no character at byte 0");
  EXPECT_EQ(refusal("(?i:(a)\\1)"), "a reference under (?i) at byte 7");
  EXPECT_EQ(refusal("\\1(a)"), "a reference to a group that does not end before it at byte 0");
  EXPECT_EQ(refusal("(?:a|b?c?){2}"), "a counted quantifier of what may be empty at byte 10");
  EXPECT_EQ(refusal("[[^\\x00-\\u0600]]"),
            "a range from U+0000 beyond ASCII in a bracket of a bracket at byte 14");
  EXPECT_EQ(refusal("[^[^\\d\\D]]"),
            "a negated bracket of nothing beyond ASCII in a negated bracket at byte 2");
}

TEST(Oniguruma, RefusesWhatIsNoRegex) {
  EXPECT_EQ(refusal("a)"), "a ) without its ( at byte 1");
  EXPECT_EQ(refusal("(a"), "a ( without its ) at byte 0");
  EXPECT_EQ(refusal("[a"), "a [ without its ] at byte 0");
  EXPECT_EQ(refusal("[]"), "an empty bracket at byte 0");
  EXPECT_EQ(refusal("x[c-a]"), "a range whose end is before its begin at byte 5");
  EXPECT_EQ(refusal("[a-\\d]"), "a range that ends in a class at byte 5");
  EXPECT_EQ(refusal("[\\d-a]"), "a range that begins with a class at byte 3");
  EXPECT_EQ(refusal("*a"), "a quantifier of nothing at byte 0");
  EXPECT_EQ(refusal("a|{2}"), "a quantifier of nothing at byte 2");
  EXPECT_EQ(refusal("\\b+"), "a quantifier of what has no width at byte 2");
  EXPECT_EQ(refusal("a\\"), "a \\ at the end at byte 1");
  EXPECT_EQ(refusal("a{70000}"), "more than 65535 repetitions at byte 1");
  EXPECT_EQ(refusal("(?#a"), "a comment without its end at byte 0");
  EXPECT_EQ(refusal(std::string(200, '(') + std::string(200, ')')),
            "more than 100 groups in each other at byte 100");
  EXPECT_EQ(refusal("a\xFF"), "text that is not UTF-8 at byte 0");
}

TEST(Oniguruma, WritesBracketsThatPcre2Knows) {
  EXPECT_EQ(pcre2_from_oniguruma("[a-c&&[^b]]"), "[ac]");
  EXPECT_EQ(pcre2_from_oniguruma("[[a-c][0-9]]+"), "[0-9a-c]+");
  EXPECT_EQ(pcre2_from_oniguruma("[\\p{Lt}&&[^\\p{Khmer}]]"), "(?:(?![\\p{sc:Khmer}])[\\p{Lt}])");
  EXPECT_EQ(pcre2_from_oniguruma("\\p{Thai}\\P{^Thai}"), "[\\p{sc:Thai}][\\p{sc:Thai}]");
  EXPECT_EQ(pcre2_from_oniguruma("\\h+"), "[0-9A-Fa-f]+");
  EXPECT_EQ(pcre2_from_oniguruma("a{1,3}+b"), "a+b");
  EXPECT_EQ(pcre2_from_oniguruma("(?:ab){1,3}+"), "(?:(?:ab){1,3})+");
  EXPECT_EQ(pcre2_from_oniguruma("(?<=\\s+x?)a"), pcre2_from_oniguruma("(?<=\\s|\\sx)a"));
}

TEST(Oniguruma, LazyInAtomicRunsWithoutCompiledCode) {  // which misses such matches
  EXPECT_TRUE(pcre2_from_oniguruma("(?>.+?)c+").starts_with("(*NO_JIT)"));
  EXPECT_EQ(Pattern::regex("(?>.+?)c+", "test").replace("0=cx", "_"), "0_x");
}

TEST(Oniguruma, RepeatedAtomicRunsWithoutCompiledCode) {  // which goes back into the first
  EXPECT_EQ(Pattern::regex("(?>.+|\\W){2}", "test").replace("xW.y22", "_"), "xW.y22");
}

TEST(CodePointSet, Algebra) {
  CodePointSet set = {{'a', 'c'}, {'e', 'g'}};
  set.add('d');
  EXPECT_EQ(set, (CodePointSet{{'a', 'g'}}));
  EXPECT_EQ(set.complement(), (CodePointSet{{0, 'a' - 1}, {'h', kLastCodePoint}}));
  EXPECT_EQ(set.complement().complement(), set);
  EXPECT_EQ(set.intersection({{'c', 'd'}, {'g', 'z'}}), (CodePointSet{{'c', 'd'}, {'g', 'g'}}));
  EXPECT_TRUE(set.contains('a') && set.contains('g') && !set.contains('h') && !set.contains(0));
  EXPECT_EQ(CodePointSet().complement(), (CodePointSet{{0, kLastCodePoint}}));
  EXPECT_TRUE(CodePointSet().complement().complement().empty());
}

}  // namespace
}  // namespace bora
