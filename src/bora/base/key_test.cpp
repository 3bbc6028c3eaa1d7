// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bora/base/key_trail.h"

namespace bora {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Key, WordsAreThePhiloxBlockOfTheStream) {
  const Key key{0x299f31d0a4093822, 0x0370734413198a2e};
  EXPECT_EQ(key.words(0x85a308d3243f6a88), (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// These bits are part of what a checkpoint means: a change here breaks every old run.
TEST(Key, BitsNeverChange) {
  const Key root = Key::from_seed(0);
  EXPECT_EQ(root.key, 8755736736129761094u);
  EXPECT_EQ(root.stream, 1140501142209410370u);
  EXPECT_EQ(root.fold("dropout").key, 5019739092549675406u);
  EXPECT_EQ(root.fold(7).key, 1526125021529660696u);
  EXPECT_EQ(root.words(0)[0], 3209972853u);
  EXPECT_EQ(root.below(1000000007), 69731158u);
}

TEST(Key, DerivedKeysDiffer) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  const auto add = [&](const Key& key) { return seen.emplace(key.key, key.stream).second; };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Key root = Key::from_seed(seed);
    EXPECT_TRUE(add(root));
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(add(root.fold(i)));
    for (auto name : {"", "a", "dropout", "init"}) EXPECT_TRUE(add(root.fold(name)));
  }
}

TEST(Key, SplitFoldsByNumber) {
  const Key root = Key::from_seed(3);
  const auto [a, b, c] = root.split<3>();
  EXPECT_EQ(a, root.fold(0));
  EXPECT_EQ(b, root.fold(1));
  EXPECT_EQ(c, root.fold(2));
}

TEST(Key, DrawingIsNotFolding) {
  const Key root = Key::from_seed(1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto words = root.words(i);
    EXPECT_NE(root.fold(i).key, std::uint64_t{words[1]} << 32 | words[0]);
  }
}

TEST(Key, BelowIsInRangeAndEven) {
  const Key key = Key::from_seed(5);
  std::array<int, 10> counts{};
  for (std::uint64_t i = 0; i < 10000; ++i) ++counts.at(key.below(10, i));
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
  EXPECT_EQ(key.below(1, 3), 0U);
  EXPECT_EQ(key.below(0, 3), 0U);
}

TEST(Key, BelowIsTheMultiplyShiftOfTheFirstTwoWords) {
  const Key key = Key::from_seed(9);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto words = key.words(i);
    EXPECT_EQ(key.below(std::uint64_t{1} << 32, i), words[1]);
    EXPECT_EQ(key.below(std::uint64_t{1} << 63, i), (std::uint64_t{words[1]} << 32 | words[0]) >> 1);
  }
}

TEST(Key, UniformIsInsideTheOpenInterval) {
  const Key key = Key::from_seed(6);
  double sum = 0, squares = 0;
  constexpr int kDraws = 10000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = key.uniform(i);
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.015);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.015);
  // The formula's ends.
  EXPECT_GT((0.0 + 0.5) * 0x1p-52, 0.0);
  EXPECT_LT((0x1p52 - 1 + 0.5) * 0x1p-52, 1.0);
}

TEST(KeyTrail, KeysComeFromOtherRootsTheSameWay) {
  const auto made = [](Key root) { return root.fold(7).fold("layer").fold(3).fold("dropout"); };
  const Key first = Key::from_seed(1), other = Key::from_seed(2), apart = Key::from_seed(3).fold(1);
  const Key before = made(first);
  const KeyTrail trail;
  EXPECT_FALSE(trail.way(first, before).from_root) << "made before the trail";
  const Key key = made(first);
  EXPECT_EQ(key, before);
  EXPECT_TRUE(trail.way(first, key).from_root);
  EXPECT_EQ(trail.way(first, key).from(other), made(other));
  EXPECT_EQ(trail.way(first, first).from(other), other);
  EXPECT_EQ(trail.way(first, apart).from(other), apart) << "does not depend on the root";
}

}  // namespace
}  // namespace bora
