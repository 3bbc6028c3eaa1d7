// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/word_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/text.h"

namespace bora::infer {
namespace {

using testing::ElementsAre;

struct Case {
  std::string reference, hypothesis;  // a sentence each line
  WordErrors errors;
};

WordErrors of_lines(const Case& c) {
  const auto said = split(c.reference, '\n'), heard = split(c.hypothesis, '\n');
  WordErrors sum;
  for (std::size_t i = 0; i < said.size(); ++i) sum += word_errors(said[i], i < heard.size() ? heard[i] : "");
  return sum;
}

// What jiwer 4.0.0 counts.
TEST(WordErrors, AreThoseOfJiwer) {
  const std::vector<Case> cases = {
      {"the cat sat", "the cat sat", {3, 0, 0, 0}},
      {"a b", "b c", {0, 2, 0, 0}},
      {"a b c d", "d c b a", {1, 2, 1, 1}},
      {"Hello, World!", "hello world", {0, 2, 0, 0}},
      {"  two   spaces\there ", "two spaces here", {1, 1, 0, 1}},
      {"one two\nthree", "one\nthree four five", {2, 0, 1, 2}},
      {"x", "", {0, 0, 1, 0}},
      {"über straße", "uber strasse", {0, 2, 0, 0}},
      {"b c d a a d c b b", "d d b b b d a", {4, 1, 4, 2}},
      {"c c a a\nd a c a d b a c\nd a a a d c c", "b a c a a a a b\nc c b a c c\nb d d d d", {9, 4, 6, 6}},
      {"c a b a a b\nc b b a\na c", "b c a\nb c a c\nc a b b c", {6, 2, 4, 4}},
      {"c b b b c b\nb", "a a\nc c b c c a a", {1, 2, 4, 6}},
      {"b c b a a c b a a\na\na b c a a b c a a", "b a c a c c b a\na b a b c b a b a\na c a", {10, 1, 8, 9}},
      {"b b a b a b b b b\nb a b b a a\na b a a a b b b a",
       "b a b b b b b b a\na b a\na b a a b b",
       {16, 1, 7, 1}},
      {"c c d c d a d\nb d b d d b d b b\nd d",
       "d b b c b b c b\nc d c b c a c d\nb b c b c d",
       {5, 11, 2, 6}},
      {"b\nc c c b a a b b", "b b a a c c\nb a c b a b a", {5, 3, 1, 5}},
      {"b b a b b b\na a a\nb b a b b b a a a", "b a b b b b a\nb a a b a\na", {8, 2, 8, 3}},
      {"a d a c\nc c b a a a", "b a b d b\nc a a d a b b", {4, 5, 1, 3}},
      {"b b b a c\na b c b b\na c", "a c c a a a\na\nc a", {3, 4, 5, 2}},
      {"a a c a b b c\nb b\nb a c c", "b c a c c\na b a\na b b a b", {6, 4, 3, 3}},
      {"c b d d d d a\na b a a b\na d a b b", "d d a c\nb c b a d c d\na b b d c d c", {6, 8, 3, 4}},
      {"b b d\nc b c a b a a d a\nd d c b c b a b", "a d c d d c c d\nb c b a\nd b d c a c", {9, 3, 8, 6}},
      {"a d b c c a d a c\nd\nb c c b d d c a", "b a c c\nd c a b d c d a d\nb a a", {6, 2, 10, 8}},
      {"a c\nd c\nd c c a b b d b", "b b\nd a b d a b b\nb b b a", {3, 5, 4, 5}},
      {"c b c b b c c b b\nc b b\nc b c c", "b a\nb a a a c\n", {1, 4, 11, 2}},
      {"a a b c a a c", "a b c b c c b", {4, 2, 1, 1}},
      {"a a b a a a\na b", "b a a a b b\na b b a b", {5, 2, 1, 4}},
      {"b b b b a a a b b\na b", "b a b b a b a\na a a a a a", {6, 3, 2, 4}},
      {"b b c c c c a b a\nb c a b a a a\na c b a b a a b",
       "a b c c a a b\nb a a b b\nb a c b c",
       {11, 5, 8, 1}},
      {"a c c b\nb c a c b b b a a\nb b a c a b c b c",
       "a b c b b b c\na a c b b c a\nb a b c a b b c c",
       {15, 3, 4, 5}},
      {"b a c b c a", "a c c c b c c b c", {4, 1, 1, 4}},
      {"a b c c c\nb b b c a a", "c a c b\nb", {3, 1, 7, 1}},
      {"b b b c c c a a b\nb d", "a c b b a\nc b c d d d d", {5, 1, 5, 6}},
      {"b c b a a a a b c\na", "c c\nc c c", {2, 1, 7, 2}},
      {"c a b b a a\na a a b b a\nb c a c c c a", "a a b a\nb a a b c c b c c\nc c a c c b", {11, 5, 3, 3}},
      {"a b\nc a b c c a b c a\nc a a b c", "a a b a\na c b a a a b\na a c c b a a b c", {11, 2, 3, 7}},
      {"b b b a b c c a\nc a a c a a a", "c b\nc c c a c a a c", {6, 3, 6, 1}},
      {"a d a c d a d c d\nd c a c c d c", "c b c a c d d\nb c a b a d b", {7, 6, 3, 1}},
  };
  for (const auto& c : cases) {
    const auto errors = of_lines(c);
    EXPECT_EQ(errors, c.errors) << c.reference << " | " << c.hypothesis << ": " << errors.substitutions << " "
                                << errors.deletions << " " << errors.insertions;
  }
}

TEST(WordErrors, Rate) {
  EXPECT_EQ((WordErrors{3, 1, 0, 1}.rate()), 0.5);
  EXPECT_EQ(WordErrors().rate(), 0);
  EXPECT_EQ(word_errors("", "a b").rate(), 2);
  EXPECT_EQ(word_errors("a", "b c d").rate(), 3);
}

TEST(WordsOf, SpacesAreThoseOfPython) {
  EXPECT_THAT(words_of("  two   words "), ElementsAre("two", "words"));
  EXPECT_THAT(words_of("one\tword"), ElementsAre("one\tword"));
  EXPECT_THAT(words_of("two\t words"), ElementsAre("two", "words"));
  EXPECT_THAT(words_of("\u3000\u3000two\u3000\u3000words\t"), ElementsAre("two", "words"));
  EXPECT_THAT(words_of(" \t "), ElementsAre());
}

}  // namespace
}  // namespace bora::infer
