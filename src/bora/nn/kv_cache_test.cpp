// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bora/core/device.h"
#include "bora/core/plain_ops.h"
#include "bora/named/test_values.h"
#include "bora/nn/alibi.h"
#include "bora/nn/attention.h"

namespace bora::nn {
namespace {

using testing::error_of;
using ::testing::FloatNear;
using ::testing::Pointwise;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct KvHead : axis<"kv_head"> {};
struct Group : axis<"group"> {};
struct HeadDim : axis<"head_dim"> {};

using Q = Named<Batch, Pos, KvHead, Group, HeadDim>;
using K = Named<Batch, KeyPos, KvHead, HeadDim>;

constexpr std::int64_t kHeads = 2, kGroup = 3, kDim = 24, kPage = KvCache::kPage;
constexpr std::int64_t kLong = 1100;  // more than a query of its own reads in one part

// One text: its queries, keys and values of all positions.
struct Text {
  Q q;
  K k, v;

  Text(std::uint64_t seed, std::int64_t n)
      : q(random_normal(Key::from_seed(seed), 0, 1, Dim<Batch>{1}, Dim<Pos>{n}, Dim<KvHead>{kHeads},
                        Dim<Group>{kGroup}, Dim<HeadDim>{kDim})),
        k(keys(seed + 100, n)),
        v(keys(seed + 200, n)) {}
  static K keys(std::uint64_t seed, std::int64_t n) {
    return random_normal(Key::from_seed(seed), 0, 1, Dim<Batch>{1}, Dim<KeyPos>{n}, Dim<KvHead>{kHeads},
                         Dim<HeadDim>{kDim});
  }
  Q read(KvCache& cache, std::int64_t row, std::int64_t n, const AttentionOptions& options = {}) const {
    const auto from = cache.length(row);
    CachePass pass(cache, {row});
    auto out = attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, from, n), slice<KeyPos>(k, from, n),
                                               slice<KeyPos>(v, from, n), Context{.cache = &pass}, options);
    pass.finish(n);
    return out;
  }
  Q whole(const AttentionOptions& options = {}) const {
    return attention<Pos, KeyPos, HeadDim>(q, k, v, Context{}, options);
  }
};

void expect_near(const Q& a, const Q& b) {
  const auto x = a.to_vector(), y = b.to_vector();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 2e-6) << i;
}

AttentionOptions all_at_once(std::int64_t window) {
  const auto six = [](std::vector<float> values) {
    return from_vector(values, Dim<KvHead>{kHeads}, Dim<Group>{kGroup}).array();
  };
  return {.soft_cap = 20,
          .window = window,
          .slopes = six(alibi_slopes(6, 8)),
          .sinks = six({-1, 0, 0.5F, 2, 3, -2})};
}

// In chunks of many sizes, over the borders of pages and of steps, and token by token.
TEST(KvCache, ReadsATextInPiecesAsInOne) {
  const Text text(1, kLong);
  for (const auto& options :
       {AttentionOptions{}, AttentionOptions{.window = 70}, all_at_once(0), all_at_once(130)}) {
    const auto expected = text.whole(options);
    for (const std::int64_t chunk : {1, 3, 64, 100, 512}) {
      if (chunk == 3 && options.window == 0) continue;  // for the sake of time
      KvCache cache(1, {kLong});
      for (std::int64_t from = 0; from < kLong; from += chunk) {
        const auto n = std::min(chunk, kLong - from);
        expect_near(text.read(cache, 0, n, options), slice<Pos>(expected, from, n));
      }
    }
  }
}

// libtorch's ops read the same pages.
TEST(KvCache, OfPlainOps) {
  const Text text(2, 150);
  const auto options = all_at_once(90);
  const auto expected = text.whole(options);
  KvCache cache(1, {150});
  const core::PlainOpsScope plain;
  for (std::int64_t from = 0; from < 150; from += 50)
    expect_near(text.read(cache, 0, 50, options), slice<Pos>(expected, from, 50));
}

TEST(KvCache, TakesPagesAsItGrowsAndGivesThemBack) {
  const Text text(3, 300);
  KvCache cache(2, {300, 300});
  EXPECT_EQ(cache.pages(), 0);
  text.read(cache, 0, 1);
  EXPECT_EQ(cache.pages(), 1);
  text.read(cache, 0, kPage - 1);
  EXPECT_EQ(cache.pages(), 1);
  text.read(cache, 0, 1);
  EXPECT_EQ(cache.pages(), 2);
  const auto page = cache.bytes() / 2;
  EXPECT_EQ(page, kPage * kHeads * (kDim + 32) * 4);  // values in rows of whole lines
  text.read(cache, 1, 300);
  EXPECT_EQ(cache.pages(), 2 + 5);
  cache.truncate(1, 100);
  EXPECT_EQ(cache.pages(), 2 + 2);
  cache.remove_row(1);
  EXPECT_EQ(cache.pages(), 2);
  EXPECT_EQ(cache.bytes(), 7 * page);  // the others wait
  EXPECT_EQ(cache.add_row(300), 1);
  text.read(cache, 1, 300);
  EXPECT_EQ(cache.bytes(), 7 * page);
}

// As many pages as a window spans, whatever the length.
TEST(KvCache, AWindowGivesBackWhatItNoLongerSees) {
  const Text text(4, kLong);
  KvCache cache(1, {kLong});
  const AttentionOptions options{.window = 100};
  for (std::int64_t i = 0; i < kLong; ++i) {
    text.read(cache, 0, 1, options);
    EXPECT_LE(cache.pages(), 3);
  }
  EXPECT_LE(cache.bytes(), 3 * kPage * kHeads * (kDim + 32) * 4);
}

TEST(KvCache, RowsWithACommonBeginningShareItsPages) {
  const Text text(5, 200), other(6, 200);
  KvCache cache(1, {200});
  text.read(cache, 0, 150);
  EXPECT_EQ(cache.pages(), 3);
  const auto fork = cache.fork(0, 180);
  EXPECT_EQ(fork, 1);
  EXPECT_EQ(cache.pages(), 3);
  EXPECT_EQ(cache.length(fork), 150);
  other.read(cache, fork, 10);  // its own last page
  EXPECT_EQ(cache.pages(), 4);
  KvCache alone(1, {200});
  text.read(alone, 0, 150);
  EXPECT_TRUE(same_bits(text.read(cache, 0, 10), text.read(alone, 0, 10)));
  EXPECT_EQ(cache.pages(), 4);
  alone.truncate(0, 150);
  other.read(alone, 0, 10);
  EXPECT_TRUE(same_bits(other.read(cache, fork, 5), other.read(alone, 0, 5)));
  cache.remove_row(0);
  EXPECT_EQ(cache.pages(), 3);
  EXPECT_TRUE(same_bits(other.read(cache, fork, 5), other.read(alone, 0, 5)));
}

// A copy is read on in its own way, and so is what it was made of.
TEST(KvCache, CopiesDoNotMatterToEachOther) {
  const Text text(7, 100), other(8, 100);
  KvCache cache(1, {100}), alone(1, {100});
  text.read(cache, 0, 70);
  text.read(alone, 0, 70);
  auto copy = cache.clone();
  other.read(copy, 0, 20);
  EXPECT_TRUE(same_bits(text.read(cache, 0, 20), text.read(alone, 0, 20)));
}

// As a shorter text's row does in a batch of longer ones.
TEST(KvCache, ForgetsWhatFillsARowUp) {
  const Text text(10, 30), other(11, 30);
  for (const std::int64_t window : {0, 3}) {
    const auto options = all_at_once(window);
    KvCache cache(1, {30}), alone(1, {30});
    CachePass pass(cache, {0}, 1, std::vector<std::int64_t>{5});
    const auto filled = concatenate<KeyPos>(slice<KeyPos>(text.k, 0, 5), slice<KeyPos>(other.k, 5, 9));
    const auto out = attention<Pos, KeyPos, HeadDim>(
        slice<Pos>(text.q, 0, 14), filled, slice<KeyPos>(text.v, 0, 14), Context{.cache = &pass}, options);
    pass.finish(14);
    EXPECT_EQ(cache.length(0), 5);
    const auto of_both = slice<Pos>(out, 0, 5).to_vector(), own = text.read(alone, 0, 5, options).to_vector();
    if (core::default_device() == core::Device()) EXPECT_EQ(of_both, own);
    // A GPU's library has another product for another size.
    EXPECT_THAT(of_both, Pointwise(FloatNear(1e-5F), own));
    EXPECT_TRUE(same_bits(text.read(cache, 0, 12, options), text.read(alone, 0, 12, options)));
  }
}

TEST(KvCache, Errors) {
  const Text text(9, 20);
  KvCache cache(1, {10});
  EXPECT_EQ(error_of([&] { text.read(cache, 0, 20); }),
            "attention: 0 cached and 20 new positions exceed the cache's 10\n"
            "hint: a shorter prompt, or fewer new tokens");
  EXPECT_EQ(error_of([&] { cache.length(3); }), "cache: row 3 is not there; the cache has 1");
  cache.remove_row(0);
  EXPECT_EQ(error_of([&] { cache.truncate(0, 0); }), "cache: row 0 is not there; the cache has 1");
  EXPECT_EQ(cache.add_row(10), 0);
  EXPECT_EQ(error_of([&] { CachePass(cache, {0}, 1, std::vector<std::int64_t>{1, 2}); }),
            "cache: a pass over 1 rows is given the own positions of 2\nhint: a number for each row");
  CachePass pass(cache, {0});
  const Context open{.mask = AttentionMask::none(), .cache = &pass};
  EXPECT_EQ(error_of([&] {
              attention<Pos, KeyPos, HeadDim>(slice<Pos>(text.q, 0, 5), slice<KeyPos>(text.k, 0, 5),
                                              slice<KeyPos>(text.v, 0, 5), open);
            }),
            "attention: keys after a query with pages of earlier positions\n"
            "hint: a text that is read on sees what comes before, all of it");
  EXPECT_EQ(error_of([&] {
              attention<Pos, KeyPos, HeadDim>(slice<Pos>(text.q, 0, 4), slice<KeyPos>(text.k, 0, 5),
                                              slice<KeyPos>(text.v, 0, 5), Context{.cache = &pass});
            }),
            "attention: 4 new queries and 5 new keys\n"
            "hint: with pages of earlier positions they are the same");
}

}  // namespace
}  // namespace bora::nn
