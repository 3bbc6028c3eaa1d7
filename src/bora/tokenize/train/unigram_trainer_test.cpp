// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/unigram_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace bora::tokenize {
namespace {

using Words = std::vector<WordCounts::Word>;

std::map<std::string, double> seeds_of(const Words& words, SeedRules rules = {}) {
  std::map<std::string, double> out;
  for (const SeedPiece& seed : seed_pieces(words, Alphabet(words, 1), rules)) {
    EXPECT_TRUE(out.emplace(seed.text, seed.weight).second) << seed.text;
  }
  return out;
}

UnigramModel model_of(const std::map<std::string, double>& probabilities) {
  UnigramModel model;
  std::vector<double> scores;
  for (const auto& [text, p] : probabilities) {
    model.texts.push_back(text);
    scores.push_back(std::log(p));
  }
  model.set_scores(std::move(scores));
  model.index();
  return model;
}

TEST(UnigramTrainer, SeedsAreTheFrequentSubstrings) {
  // In "abc" and "abd": ab goes on in two ways. b alone does too; bc does not.
  EXPECT_EQ(
      seeds_of({{"abc", 2}, {"abd", 1}}),
      (std::map<std::string, double>{{"a", 3}, {"b", 3}, {"c", 2}, {"d", 1}, {"ab", 3 * 2}, {"abc", 2 * 3}}));
  // Each start of a run counts, and a word that starts another is no leaf.
  EXPECT_EQ(seeds_of({{"aaa", 1}, {"éé", 5}}),
            (std::map<std::string, double>{{"a", 3}, {"é", 10}, {"aa", 2 * 2}, {"éé", 5 * 2}}));
  SeedRules rules;
  rules.min_frequency = 4;
  rules.excluded = {"éé"};
  EXPECT_EQ(seeds_of({{"ab", 3}, {"abx", 1}, {"éé", 5}}, rules),
            (std::map<std::string, double>{{"a", 4}, {"b", 4}, {"x", 1}, {"é", 10}, {"ab", 4 * 2}}));
  rules = {};
  rules.most = 1;
  EXPECT_EQ(seeds_of({{"ab", 3}, {"cdef", 2}}, rules).size(), 6 + 1u);
}

// Against counting every substring, on random words.
TEST(UnigramTrainer, SeedsCountAllOccurrences) {
  std::map<std::string, std::int64_t> counts;
  std::uint32_t state = 1;
  for (int i = 0; i < 300; ++i) {
    std::string word;
    for (std::uint32_t n = 0; n < 1 + i % 23u; ++n) {
      state = state * 1664525 + 1013904223;
      word += static_cast<char>('a' + (state >> 20) % 3);
    }
    counts[word] += 1 + i % 4;
  }
  Words words;
  std::map<std::string, std::int64_t> all;
  for (const auto& [word, count] : counts) {
    words.push_back({word, count});
    for (std::size_t i = 0; i < word.size(); ++i) {
      for (std::size_t n = 1; n <= SeedRules::kLongest && i + n <= word.size(); ++n)
        all[word.substr(i, n)] += count;
    }
  }
  const auto seeds = seeds_of(words);
  for (const auto& [text, weight] : seeds) {
    EXPECT_EQ(weight, static_cast<double>(all[text] * static_cast<std::int64_t>(text.size()))) << text;
  }
  // A substring that occurs as often as one that is longer by a character at the end says no more than it.
  for (const auto& [text, count] : all) {
    if (count < 2 || text.size() < 2 || text.size() == SeedRules::kLongest) continue;
    // Bindings given by name: clang 14 does not capture structured ones.
    const auto as_often = [&all, &shorter = text, &times = count](char next) {
      const auto longer = all.find(shorter + next);
      return longer != all.end() && longer->second == times;
    };
    if (!as_often('a') && !as_often('b') && !as_often('c') && !seeds.contains(text)) {
      EXPECT_FALSE(counts.contains(text)) << text;
      std::int64_t ends = 0;  // it only ends words, and is continued at most one way: no inner node
      for (const auto& [word, n] : counts) ends += word.ends_with(text) ? n : 0;
      EXPECT_GT(ends, 0) << text;
    }
  }
}

TEST(UnigramTrainer, ExpectedCountsByHand) {
  // ab: as one piece 0.2, as two 0.5 * 0.3.
  const UnigramModel model = model_of({{"a", 0.5}, {"ab", 0.2}, {"b", 0.3}});
  UnigramLattice lattice;
  std::vector<double> expected(3, 0);
  EXPECT_NEAR(lattice.add_expected(model, "ab", 7, expected), 7 * std::log(0.35), 1e-12);
  EXPECT_NEAR(expected[0], 7 * 0.15 / 0.35, 1e-12);
  EXPECT_NEAR(expected[1], 7 * 0.2 / 0.35, 1e-12);
  EXPECT_NEAR(expected[2], 7 * 0.15 / 0.35, 1e-12);
  std::vector<std::int32_t> reversed;
  EXPECT_NEAR(lattice.best(model, "aab", reversed), std::log(0.1), 1e-12);
  EXPECT_EQ(reversed, (std::vector<std::int32_t>{1, 0}));
  EXPECT_NEAR(lattice.best(model, "ab", reversed, 1), std::log(0.15), 1e-12);
  EXPECT_EQ(reversed, (std::vector<std::int32_t>{2, 0}));
}

TEST(UnigramTrainer, ImprobableTextsDoNotUnderflow) {
  const UnigramModel model = model_of({{"a", 1e-30}, {"aa", 1e-61}, {"b", 0.5}});
  UnigramLattice lattice;
  std::vector<double> expected(3, 0);
  const std::string text = std::string(5000, 'a') + std::string(3000, 'b') + std::string(4001, 'a');
  const double log = lattice.add_expected(model, text, 1, expected);
  // Each pair of neighbours is one piece instead of two with odds of about 1 to 10: by recurrence, per run of
  // n.
  const auto run = [](int n) {
    double before = 1, now = 1, scale = 0;
    for (int i = 1; i < n; ++i) {
      const double next = now + 0.1 * before;
      before = now / next;
      now = 1;
      scale += std::log(next);
    }
    return scale + n * std::log(1e-30);
  };
  EXPECT_NEAR(log, run(5000) + run(4001) + 3000 * std::log(0.5), 1e-6);
  EXPECT_NEAR(expected[2], 3000, 1e-9);
  EXPECT_NEAR(expected[0] + 2 * expected[1], 9001, 1e-6);
}

TEST(UnigramTrainer, Digamma) {
  EXPECT_NEAR(digamma(1), -0.57721566490153286, 1e-10);
  EXPECT_NEAR(digamma(0.5), -1.96351002602142348, 1e-10);
  EXPECT_NEAR(digamma(10), 2.25175258906672111, 1e-10);
  EXPECT_NEAR(digamma(1e9), std::log(1e9), 1e-8);
}

TEST(UnigramTrainer, StepsRaiseTheLikelihood) {
  const Words words = {{"ab", 40}, {"abab", 30}, {"abc", 20}, {"bc", 10}, {"c", 5}};
  UnigramTrainer trainer(words, seed_pieces(words, Alphabet(words, 1), {}), 1);
  double last = trainer.step(true);
  for (int i = 0; i < 5; ++i) {
    const double now = trainer.step(false);
    EXPECT_GT(now, last - 0.5);  // digamma gives a little away
    last = now;
  }
}

TEST(UnigramTrainer, PruningKeepsCharactersAndWhatTheTextNeeds) {
  const Words words = {{"xyzw", 100}, {"pq", 50}, {"rs", 2}};
  UnigramTrainer trainer(words, seed_pieces(words, Alphabet(words, 1), {}), 1);
  trainer.train(10, {});
  std::vector<std::string> texts;
  for (const auto& piece : trainer.pieces()) texts.push_back(piece.text);
  EXPECT_THAT(texts, testing::UnorderedElementsAre("xyzw", "pq", "p", "q", "r", "s", "w", "x", "y", "z"));
  EXPECT_EQ(texts[0], "xyzw");
  EXPECT_EQ(texts[1], "pq");
}

}  // namespace
}  // namespace bora::tokenize
