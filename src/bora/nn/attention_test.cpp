// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "bora/core/create.h"
#include "bora/core/update.h"
#include "bora/named/test_values.h"

namespace bora::nn {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct KvHead : axis<"kv_head"> {};
struct Group : axis<"group"> {};
struct HeadDim : axis<"head_dim"> {};

constexpr std::int64_t kBatch = 2, kPositions = 7, kHeads = 2, kGroup = 3, kDim = 8;

using Q = Named<Batch, Pos, KvHead, Group, HeadDim>;
using K = Named<Batch, KeyPos, KvHead, HeadDim>;

class NnAttention : public ::testing::Test {
 protected:
  Q q = random_normal(Key::from_seed(1), 0, 1, Dim<Batch>{kBatch}, Dim<Pos>{kPositions}, Dim<KvHead>{kHeads},
                      Dim<Group>{kGroup}, Dim<HeadDim>{kDim});
  K k = make_keys(2), v = make_keys(3);

  static K make_keys(std::uint64_t seed) {
    return random_normal(Key::from_seed(seed), 0, 1, Dim<Batch>{kBatch}, Dim<KeyPos>{kPositions},
                         Dim<KvHead>{kHeads}, Dim<HeadDim>{kDim});
  }
  static core::Array segments() {
    std::vector<std::int32_t> ids{0, 0, 0, 1, 1, 2, 2, 5, 5, 5, 5, 5, 5, 6};
    return indices_from_vector(ids, Dim<Batch>{kBatch}, Dim<Pos>{kPositions}).array();
  }
  // softmax(scale · q·k) · v over the keys that `sees(b, i, j)` allows, in double.
  template <class Sees>
  void expect_definition(const Q& result, Sees sees, double scale = 1 / std::sqrt(8.0),
                         double cap = 0) const {
    auto aq = at(q), ak = at(k), av = at(v);
    expect_each(result, q.array().sizes(), [&](auto b, auto i, auto h, auto g, auto d) {
      double sum = 0, out = 0;
      for (std::int64_t j = 0; j < kPositions; ++j) {
        if (!sees(b, i, j)) continue;
        double score = 0;
        for (std::int64_t e = 0; e < kDim; ++e)
          score += static_cast<double>(aq(b, i, h, g, e)) * ak(b, j, h, e);
        score *= scale;
        if (cap > 0) score = cap * std::tanh(score / cap);
        sum += std::exp(score);
        out += std::exp(score) * av(b, j, h, d);
      }
      return out / sum;
    });
  }
  Q fused(const Context& c, const AttentionOptions& o = {}) const {
    return attention<Pos, KeyPos, HeadDim>(q, k, v, c, o);
  }
  Q plain(const Context& c, const AttentionOptions& o = {}) const {
    return plain_attention<Pos, KeyPos, HeadDim>(q, k, v, c, o);
  }
};

TEST_F(NnAttention, CausalAndUnmaskedGroupedHeads) {
  Context causal;
  auto sees = [](auto, auto i, auto j) { return j <= i; };
  expect_definition(fused(causal), sees);
  expect_definition(plain(causal), sees);
  Context open{.mask = AttentionMask::none()};
  auto all = [](auto...) { return true; };
  expect_definition(fused(open), all);
  expect_definition(plain(open), all);
}

TEST_F(NnAttention, Window) {
  Context c{.mask = AttentionMask::causal_mask().with_window(3)};
  auto sees = [](auto, auto i, auto j) { return j <= i && j > i - 3; };
  expect_definition(fused(c), sees);
  expect_definition(plain(c), sees);
  EXPECT_EQ(c.mask.with_window(5).window, 3);
  EXPECT_EQ(c.mask.with_window(2).window, 2);
  EXPECT_EQ(c.mask.with_window(0).window, 3);
}

TEST_F(NnAttention, WindowOfALayer) {
  Context c{.mask = AttentionMask::causal_mask().with_window(5)};
  auto sees = [](auto, auto i, auto j) { return j <= i && j > i - 3; };
  expect_definition(fused(c, {.window = 3}), sees);
  expect_definition(plain(c, {.window = 3}), sees);
  EXPECT_TRUE(testing::same_bits(fused(c, {.window = 6}), fused(c)));
}

TEST_F(NnAttention, Segments) {
  Context c{.mask = AttentionMask::causal_mask().with_segments(segments())};
  auto ids = segments().to_vector<std::int32_t>();
  auto sees = [&](auto b, auto i, auto j) {
    auto row = static_cast<std::size_t>(b * kPositions);
    return j <= i && ids[row + static_cast<std::size_t>(i)] == ids[row + static_cast<std::size_t>(j)];
  };
  expect_definition(fused(c), sees);
  expect_definition(plain(c), sees);
}

TEST_F(NnAttention, ScaleAndSoftCap) {
  AttentionOptions options{.scale = 0.7, .soft_cap = 1.5};
  auto sees = [](auto, auto i, auto j) { return j <= i; };
  expect_definition(fused({}, options), sees, 0.7, 1.5);
  expect_definition(plain({}, options), sees, 0.7, 1.5);
}

TEST_F(NnAttention, GradientsOfFusedAndPlainAgree) {
  std::vector<core::Array*> inputs{&q.mutable_array(), &k.mutable_array(), &v.mutable_array()};
  Context c{.mask = AttentionMask::causal_mask().with_window(4).with_segments(segments())};
  auto f = core::value_and_grad(inputs, [&] { return total(square(fused(c))).array(); });
  auto p = core::value_and_grad(inputs, [&] { return total(square(plain(c))).array(); });
  EXPECT_NEAR(f.value.item(), p.value.item(), 1e-3);
  for (std::size_t i = 0; i < 3; ++i) {
    auto a = f.gradients[i].to_vector<float>(), b = p.gradients[i].to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t e = 0; e < a.size(); ++e)
      ASSERT_NEAR(a[e], b[e], 1e-4) << "input " << i << " element " << e;
  }
}

TEST_F(NnAttention, DropoutOnlyWithAKey) {
  AttentionOptions options{.dropout = 0.5};
  EXPECT_TRUE(testing::same_bits(fused({}, options), fused({})));
  Context training{.key = Key::from_seed(1)};
  auto dropped = fused(training, options);
  EXPECT_FALSE(testing::same_bits(dropped, fused({})));
  EXPECT_TRUE(testing::same_bits(dropped, fused(training, options)));
}

TEST_F(NnAttention, TokenByTokenEqualsTheWholePass) {
  for (std::int64_t window : {0, 3}) {
    Context whole{.mask = AttentionMask::causal_mask().with_window(window)};
    auto expected = at(fused(whole));
    KvCache cache(2, kPositions);
    Context step = whole;
    step.cache = &cache;
    for (std::int64_t p = 0, n = 0; p < kPositions; p += n) {
      n = p == 0 ? 3 : 1;  // a prompt of three, then one at a time
      auto part = attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, p, n), slice<KeyPos>(k, p, n),
                                                  slice<KeyPos>(v, p, n), step.at_layer(1));
      cache.advance(n);
      expect_each(part, {kBatch, n, kHeads, kGroup, kDim},
                  [&](auto b, auto i, auto h, auto g, auto d) { return expected(b, p + i, h, g, d); });
    }
    EXPECT_EQ(cache.length(), kPositions);
  }
}

// Segments of every position so far. A dropout that drops nothing takes the plain path.
TEST_F(NnAttention, SegmentsWithACacheAreThoseOfAllPositions) {
  auto mask = AttentionMask::causal_mask().with_window(4);
  for (AttentionOptions options : {AttentionOptions{}, AttentionOptions{.dropout = 1e-12}}) {
    auto expected = at(fused({.mask = mask.with_segments(segments())}));
    KvCache cache(1, kPositions);
    Context step{.key = Key::from_seed(1), .cache = &cache};
    for (std::int64_t p = 0, n = 0; p < kPositions; p += n) {
      n = p == 0 ? 3 : 2;
      step.mask = mask.with_segments(core::read_slice(segments(), 1, 0, p + n));
      auto part = attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, p, n), slice<KeyPos>(k, p, n),
                                                  slice<KeyPos>(v, p, n), step, options);
      cache.advance(n);
      expect_each(part, {kBatch, n, kHeads, kGroup, kDim},
                  [&](auto b, auto i, auto h, auto g, auto d) { return expected(b, p + i, h, g, d); });
    }
  }
}

TEST_F(NnAttention, SegmentsThatDoNotCoverTheCache) {
  KvCache cache(1, 8);
  Context c{.cache = &cache};
  attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, 0, 5), slice<KeyPos>(k, 0, 5), slice<KeyPos>(v, 0, 5), c);
  cache.advance(5);
  auto new_ones = [&](std::int64_t covered, const AttentionOptions& options) {
    c.key = Key::from_seed(1);
    c.mask = AttentionMask::causal_mask().with_segments(core::read_slice(segments(), 1, 0, covered));
    return error_of([&] {
      attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, 5, 2), slice<KeyPos>(k, 5, 2), slice<KeyPos>(v, 5, 2), c,
                                      options);
    });
  };
  const std::string hint = "\nhint: segments are those of all positions so far, the cached ones included";
  EXPECT_EQ(new_ones(2, {}),
            "attention: the mask's segments cover 2 positions, but there are 5 cached and more" + hint);
  EXPECT_EQ(new_ones(2, {.dropout = 0.5}),
            "attention: the mask's segments cover 2 positions, but there are 5 cached and 2 new ones" + hint);
  EXPECT_EQ(new_ones(6, {}), "attention: the segments [batch=2, position=1] are not those of 2 x 2 queries");
  EXPECT_EQ(new_ones(7, {}), "no error");
  c = Context{.mask = AttentionMask::causal_mask().with_segments(core::read_slice(segments(), 1, 0, 4))};
  EXPECT_EQ(error_of([&] { fused(c); }),
            "attention: the segments [batch=2, position=4] are not those of 2 x 7 queries");
  EXPECT_EQ(error_of([&] { plain(c); }),
            "attention: the mask's segments cover 4 positions, but there are 0 cached and 7 new ones" + hint);
}

TEST_F(NnAttention, DropoutWithACache) {
  constexpr std::int64_t kCached = 4, kNew = kPositions - kCached;
  AttentionOptions options{.dropout = 0.5};
  auto run = [&](std::optional<Key> key) {
    KvCache cache(1, kPositions);
    Context c{.cache = &cache};
    attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, 0, kCached), slice<KeyPos>(k, 0, kCached),
                                    slice<KeyPos>(v, 0, kCached), c);
    cache.advance(kCached);
    c.key = key;
    auto part = attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, kCached, kNew), slice<KeyPos>(k, kCached, kNew),
                                                slice<KeyPos>(v, kCached, kNew), c, options);
    if (key) {  // over all keys, of which the cache holds a copy
      auto whole = plain_attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, kCached, kNew), k, v, c, options);
      EXPECT_TRUE(testing::same_bits(part, whole));
    }
    return part;
  };
  auto dropped = run(Key::from_seed(1));
  EXPECT_TRUE(testing::same_bits(dropped, run(Key::from_seed(1))));
  EXPECT_FALSE(testing::same_bits(dropped, run(Key::from_seed(2))));
  auto expected = at(fused({}));
  expect_each(run(std::nullopt), {kBatch, kNew, kHeads, kGroup, kDim},
              [&](auto b, auto i, auto h, auto g, auto d) { return expected(b, kCached + i, h, g, d); });

  // Where every value is 1 an output is twice the sum of the weights that were kept: between 0 and 2, and a
  // mean of 1 over the many.
  v = K::adopt(core::ones({axes_of<K>::names, k.array().sizes()}));
  auto sums = run(Key::from_seed(3)).to_vector();
  double mean = 0;
  for (float sum : sums) {
    EXPECT_TRUE(sum >= 0 && sum < 2.0001) << sum;
    mean += static_cast<double>(sum) / static_cast<double>(sums.size());
  }
  EXPECT_NEAR(mean, 1, 0.25);
}

TEST_F(NnAttention, TruncatedCacheGoesOnFromThere) {
  KvCache cache(1, kPositions);
  Context c{.cache = &cache};
  auto run = [&](std::int64_t from, std::int64_t n) {
    auto out = attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, from, n), slice<KeyPos>(k, from, n),
                                               slice<KeyPos>(v, from, n), c);
    cache.advance(n);
    return out;
  };
  run(0, 4);
  auto first = run(4, 1);
  run(5, 1);
  cache.truncate(4);
  EXPECT_TRUE(testing::same_bits(run(4, 1), first));
}

TEST_F(NnAttention, FullCacheIsAnError) {
  KvCache cache(1, 8);
  Context c{.cache = &cache};
  attention<Pos, KeyPos, HeadDim>(q, k, v, c);
  cache.advance(kPositions);
  auto two = [&] {
    attention<Pos, KeyPos, HeadDim>(slice<Pos>(q, 0, 2), slice<KeyPos>(k, 0, 2), slice<KeyPos>(v, 0, 2), c);
  };
  EXPECT_EQ(error_of(two),
            "attention: 7 cached and 2 new positions exceed the cache's 8\n"
            "hint: a shorter prompt, or fewer new tokens");
}

}  // namespace
}  // namespace bora::nn
