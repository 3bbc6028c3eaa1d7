// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "bora/base/error.h"
#include "bora/data/shuffle.h"

namespace bora::data {
namespace {

std::vector<std::int64_t> values(const Permutation& p) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < p.size(); ++i) out.push_back(p(i));
  return out;
}

void expect_bijective(const Permutation& p) {
  std::vector<bool> seen(static_cast<std::size_t>(p.size()));
  for (const auto x : values(p)) {
    ASSERT_GE(x, 0);
    ASSERT_LT(x, p.size());
    ASSERT_FALSE(seen[static_cast<std::size_t>(x)]);
    seen[static_cast<std::size_t>(x)] = true;
  }
}

std::vector<Shuffle> shuffles() {
  return {{"none", NoShuffle()},         {"full", FullShuffle()},          {"full", FullShuffle(), "linear"},
          {"era", EraShuffle(10)},       {"era", EraShuffle(1), "linear"}, {"block", BlockShuffle(4, 3)},
          {"block", BlockShuffle(1, 1)}, {"block", BlockShuffle()}};
}

TEST(Permutations, AreBijectiveForEverySize) {
  for (const auto& shuffle : shuffles()) {
    for (std::int64_t n = 1; n <= 130; ++n) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        expect_bijective(*make_permutation(shuffle, n, Key::from_seed(seed)));
        if (HasFatalFailure()) FAIL() << "size " << n << " seed " << seed;
      }
    }
    for (const std::int64_t n : {1023, 1024, 1025, 5000, 65537, 200003}) {
      expect_bijective(*make_permutation(shuffle, n, Key::from_seed(7)));
      if (HasFatalFailure()) FAIL() << "size " << n;
    }
  }
}

TEST(Permutations, DependOnTheKeyAlone) {
  for (const auto& shuffle : shuffles()) {
    const auto a = values(*make_permutation(shuffle, 1000, Key::from_seed(1)));
    EXPECT_EQ(a, values(*make_permutation(shuffle, 1000, Key::from_seed(1))));
    const auto* era = shuffle.config.get_if<EraShuffle>();
    const auto* block = shuffle.config.get_if<BlockShuffle>();
    const bool moves = shuffle.type != "none" && !(era != nullptr && era->era_length == 1) &&
                       !(block != nullptr && block->window_blocks == 1);
    if (moves) {
      EXPECT_NE(a, values(*make_permutation(shuffle, 1000, Key::from_seed(2))));
    }
  }
}

TEST(Permutations, HugeSizes) {
  const std::int64_t n = (std::int64_t{1} << 62) + 12345;
  for (const auto& shuffle : shuffles()) {
    const auto p = make_permutation(shuffle, n, Key::from_seed(1));
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < 200; ++i) {
      const auto x = (*p)(n / 200 * i);
      EXPECT_GE(x, 0);
      EXPECT_LT(x, n);
      seen.insert(x);
    }
    EXPECT_EQ(seen.size(), 200u);
  }
}

TEST(Permutations, OutOfRange) {
  const auto p = feistel_permutation(5, Key::from_seed(0));
  EXPECT_THROW((*p)(-1), Error);
  try {
    (*p)(5);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "permutation: position 5 is outside of its 5");
  }
}

TEST(Permutations, StayInTheirEra) {
  const auto p = make_permutation({"era", EraShuffle(16)}, 100, Key::from_seed(3));
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ((*p)(i) / 16, i / 16);
}

TEST(Permutations, BlocksStayTogether) {
  const Shuffle shuffle{"block", BlockShuffle(8, 4)};
  const auto p = make_permutation(shuffle, 1003, Key::from_seed(3));
  for (std::int64_t window = 0; window < 1000 / 32; ++window) {
    std::set<std::int64_t> blocks;
    for (std::int64_t i = 0; i < 32; ++i) blocks.insert((*p)(window * 32 + i) / 8);
    EXPECT_EQ(blocks.size(), 4u) << "a window touches as many blocks as it has";
  }
  for (std::int64_t i = 1000; i < 1003; ++i) EXPECT_GE((*p)(i), 1000) << "the incomplete block stays last";
}

TEST(Permutations, FeistelIsUniform) {
  // Chi-square over (position, value) for many keys: mean (n-1)^2, deviation sqrt(2) (n-1) if uniform.
  for (const std::int64_t n : {5, 12, 33}) {
    const int keys = 20000;
    std::vector<double> counts(static_cast<std::size_t>(n * n));
    for (int k = 0; k < keys; ++k) {
      const auto p = feistel_permutation(n, Key::from_seed(static_cast<std::uint64_t>(k)));
      for (std::int64_t i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(i * n + (*p)(i))];
    }
    const double expected = static_cast<double>(keys) / static_cast<double>(n);
    double chi = 0;
    for (const double c : counts) chi += (c - expected) * (c - expected) / expected;
    const double mean = static_cast<double>((n - 1) * (n - 1));
    EXPECT_LT(std::abs(chi - mean), 5 * std::sqrt(2 * mean)) << n;
  }
}

TEST(Permutations, FeistelLeavesNoNeighboursTogether) {
  const auto p = feistel_permutation(100000, Key::from_seed(11));
  int close = 0;
  for (std::int64_t i = 0; i + 1 < 100000; ++i) close += std::abs((*p)(i + 1) - (*p)(i)) <= 10;
  EXPECT_LT(close, 40) << "about 20 by chance";
}

TEST(Permutations, WrongSettings) {
  const Key key = Key::from_seed(0);
  const auto message = [&](const Shuffle& shuffle) -> std::string {
    try {
      make_permutation(shuffle, 10, key);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Config);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({"full", FullShuffle(), "lcg"}),
            "shuffle: permutation lcg is neither feistel nor linear");
  EXPECT_EQ(message({"era", EraShuffle(0)}), "shuffle: an era of 0 sequences; it should have at least 1");
  EXPECT_EQ(message({"block", BlockShuffle(0)}),
            "shuffle: blocks of 0 in windows of 512; both should be at least 1");
}

}  // namespace
}  // namespace bora::data
