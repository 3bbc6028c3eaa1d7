// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/attention.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/core/create.h"
#include "bora/core/update.h"
#include "bora/named/test_values.h"
#include "bora/nn/alibi.h"
#include "bora/nn/kv_cache.h"

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
  // softmax(scale · q·k) · v over the keys that `sees(b, i, j)` allows, in double; each weight times its `kept`.
  template <class Sees>
  void expect_definition(const Q& result, Sees sees, double scale = 1 / std::sqrt(8.0), double cap = 0,
                         const std::vector<float>& slopes = {}, const std::vector<float>& sinks = {},
                         const std::vector<float>& kept = {}) const {
    auto aq = at(q), ak = at(k), av = at(v);
    expect_each(result, q.array().sizes(), [&](auto b, auto i, auto h, auto g, auto d) {
      const auto head = static_cast<std::size_t>(h * kGroup + g);
      double sum = sinks.empty() ? 0 : std::exp(static_cast<double>(sinks[head])), out = 0;
      for (std::int64_t j = 0; j < kPositions; ++j) {
        if (!sees(b, i, j)) continue;
        double score = 0;
        for (std::int64_t e = 0; e < kDim; ++e)
          score += static_cast<double>(aq(b, i, h, g, e)) * ak(b, j, h, e);
        score *= scale;
        if (cap > 0) score = cap * std::tanh(score / cap);
        if (!slopes.empty()) score += static_cast<double>(slopes[head]) * double(j - i);
        sum += std::exp(score);
        const auto at_weight = (((b * kPositions + i) * kHeads + h) * kGroup + g) * kPositions + j;
        out += std::exp(score) * av(b, j, h, d) *
               (kept.empty() ? 1 : static_cast<double>(kept[static_cast<std::size_t>(at_weight)]));
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

// For each head.
core::Array slopes_of(const std::vector<float>& values) {
  static constexpr std::array<std::string_view, 2> kNames{"kv_head", "group"};
  const std::array<std::int64_t, 2> sizes{kHeads, kGroup};
  return core::from_data({kNames, sizes}, std::span<const float>(values));
}

TEST_F(NnAttention, SlopesOfEachHead) {
  const auto slopes = alibi_slopes(kHeads * kGroup, 8);
  const AttentionOptions options{.soft_cap = 1.5, .slopes = slopes_of(slopes)};
  expect_definition(
      fused({}, options), [](auto, auto i, auto j) { return j <= i; }, 1 / std::sqrt(8.0), 1.5, slopes);
  expect_definition(
      fused({.mask = AttentionMask::none()}, {.slopes = slopes_of(slopes)}), [](auto...) { return true; },
      1 / std::sqrt(8.0), 0, slopes);
  expect_definition(
      plain({}, options), [](auto, auto i, auto j) { return j <= i; }, 1 / std::sqrt(8.0), 1.5, slopes);
  static constexpr std::array<std::string_view, 1> kName{"group"};
  static constexpr std::array<std::int64_t, 1> kSize{kGroup};
  const auto few = core::from_data({kName, kSize}, std::span<const float>(slopes).first(kGroup));
  EXPECT_THAT(
      error_of([&] { fused({}, {.slopes = few}); }),
      ::testing::HasSubstr("attention: the slopes have the sizes [3], the heads the axes kv_head, group"));
  for (const std::int64_t groups : {1, 2, 4}) {
    const auto others =
        core::uninitialized({Axes<KvHead, Group>::names, std::array<std::int64_t, 2>{kHeads, groups}});
    EXPECT_THAT(
        error_of([&] { fused({}, {.slopes = others}); }),
        ::testing::HasSubstr(fmt::format(
            "axis group is 3 in [batch=2, position=7, kv_head=2, group=3, head_dim=8] but {} in", groups)));
  }
}

TEST_F(NnAttention, SinksOfEachHead) {
  const std::vector<float> scores{-1, 0, 0.5F, 2, 3, -2};
  const AttentionOptions options{.soft_cap = 1.5, .window = 3, .sinks = slopes_of(scores)};
  expect_definition(
      fused({}, options), [](auto, auto i, auto j) { return j <= i && j > i - 3; }, 1 / std::sqrt(8.0), 1.5,
      {}, scores);
  expect_definition(
      plain({}, options), [](auto, auto i, auto j) { return j <= i && j > i - 3; }, 1 / std::sqrt(8.0), 1.5,
      {}, scores);
  const std::array<std::int64_t, 1> size{kGroup};
  const auto few = core::from_data({Axes<Group>::names, size}, std::span<const float>(scores).first(kGroup));
  EXPECT_EQ(error_of([&] { fused({}, {.sinks = few}); }),
            "attention: 2 axes are named for an array of 1 dimensions: [kv_head=3, group]");
}

TEST(AttentionSinks, AreParametersWithoutWeightDecay) {
  auto sinks = Sinks<KvHead, Group>::init({Dim<KvHead>{2}, Dim<Group>{3}}, Key::from_seed(1), 0.5);
  const auto found = parameters(sinks);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "scores");
  EXPECT_EQ(found[0].role, core::Role::bias);
  EXPECT_EQ(found[0].axes, (std::vector<std::string_view>{"kv_head", "group"}));
  double squares = 0;
  for (const double x : sinks.scores.to_vector()) squares += x * x;
  EXPECT_GT(squares, 0);
}

TEST(Alibi, SlopesAreThoseOfMpt) {
  EXPECT_EQ(alibi_slopes(4, 8), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F}));
  EXPECT_EQ(alibi_slopes(1, 8), (std::vector<float>{0.00390625F}));
  // Every second one of eight, then the others.
  EXPECT_EQ(alibi_slopes(6, 8), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F}));
  EXPECT_EQ(alibi_slopes(3, 8), (std::vector<float>{0.0625F, 0.00390625F, 0.25F}));
  EXPECT_EQ(alibi_slopes(2, 4), (std::vector<float>{0.25F, 0.0625F}));
}

TEST_F(NnAttention, GradientsOfFusedAndPlainAgree) {
  const Context c{.mask = AttentionMask::causal_mask().with_window(4).with_segments(segments())};
  AttentionOptions more{.soft_cap = 1.5,
                        .slopes = slopes_of(alibi_slopes(kHeads * kGroup, 8)),
                        .sinks = slopes_of({-1, 0, 0.5F, 2, 3, -2})};
  const auto expect_same = [&](const AttentionOptions& options, const std::vector<core::Array*>& inputs) {
    auto f = core::value_and_grad(inputs, [&] { return total(square(fused(c, options))).array(); });
    auto p = core::value_and_grad(inputs, [&] { return total(square(plain(c, options))).array(); });
    EXPECT_NEAR(f.value.item(), p.value.item(), 1e-3);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto a = f.gradients[i].to_vector<float>(), b = p.gradients[i].to_vector<float>();
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t e = 0; e < a.size(); ++e)
        ASSERT_NEAR(a[e], b[e], 1e-4) << "input " << i << " element " << e;
    }
  };
  const std::vector<core::Array*> inputs{&q.mutable_array(), &k.mutable_array(), &v.mutable_array()};
  expect_same({}, inputs);
  auto with_sinks = inputs;
  with_sinks.push_back(&more.sinks);
  expect_same(more, with_sinks);
}

TEST_F(NnAttention, DropoutOnlyWithAKey) {
  AttentionOptions options{.dropout = 0.5};
  EXPECT_TRUE(testing::same_bits(fused({}, options), fused({})));
  Context training{.key = Key::from_seed(1)};
  auto dropped = fused(training, options);
  EXPECT_FALSE(testing::same_bits(dropped, fused({})));
  EXPECT_TRUE(testing::same_bits(dropped, fused(training, options)));
}

// Zeros and 1 / (1 - p) on the weights that the softmax gives, with all else that a score may have.
TEST_F(NnAttention, DropoutIsOfTheWeights) {
  const Context training{.key = Key::from_seed(1)};
  const auto kept = bora::dropout(ones(Dim<Batch>{kBatch}, Dim<Pos>{kPositions}, Dim<KvHead>{kHeads},
                                       Dim<Group>{kGroup}, Dim<KeyPos>{kPositions}),
                                  0.4, *training.fold("attention"))
                        .to_vector();
  const auto slopes = alibi_slopes(kHeads * kGroup, 8);
  const std::vector<float> sinks{-1, 0, 0.5F, 2, 3, -2};
  const auto sees = [](auto, auto i, auto j) { return j <= i && j > i - 3; };
  expect_definition(fused(training, {.scale = 0.7,
                                     .dropout = 0.4,
                                     .soft_cap = 1.5,
                                     .window = 3,
                                     .slopes = slopes_of(slopes),
                                     .sinks = slopes_of(sinks)}),
                    sees, 0.7, 1.5, slopes, sinks, kept);
}

TEST_F(NnAttention, WindowOfALayer) {
  Context c{.mask = AttentionMask::causal_mask().with_window(5)};
  auto sees = [](auto, auto i, auto j) { return j <= i && j > i - 3; };
  expect_definition(fused(c, {.window = 3}), sees);
  expect_definition(plain(c, {.window = 3}), sees);
  EXPECT_TRUE(testing::same_bits(fused(c, {.window = 6}), fused(c)));
}

TEST_F(NnAttention, SegmentsThatDoNotCoverThePositions) {
  const Context c{.mask = AttentionMask::causal_mask().with_segments(core::read_slice(segments(), 1, 0, 4))};
  EXPECT_EQ(error_of([&] { fused(c); }),
            "attention: the segments [batch=2, position=4] are not those of 2 x 7 queries");
  EXPECT_EQ(error_of([&] { plain(c); }),
            "attention: the mask's segments cover 4 positions, but there are 7\nhint: a segment for each");
}

TEST_F(NnAttention, WhatNoRuleMeans) {
  const auto window = "attention: a window of -3 positions\nhint: 0 means none";
  EXPECT_EQ(error_of([&] { fused({}, {.window = -3}); }), window);
  EXPECT_EQ(error_of([&] { plain({}, {.window = -3}); }), window);
  EXPECT_EQ(error_of([] { AttentionMask::causal_mask().with_window(-3); }), window);
  EXPECT_EQ(error_of([&] { fused({.mask = {.window = -3}}); }), window);
  const auto rule = [](std::string_view what) {
    return ::testing::HasSubstr(fmt::format("attention: the {} for [batch=2, position=7", what));
  };
  EXPECT_THAT(error_of([&] { fused({}, {.soft_cap = -1}); }), rule("soft cap"));
  EXPECT_THAT(error_of([&] { fused({}, {.scale = -1}); }), rule("scale"));
  constexpr std::array<std::string_view, 2> kNames{"batch", "position"};
  constexpr std::array<std::int64_t, 2> kSizes{kBatch, kPositions};
  const std::vector<float> halves(kBatch * kPositions, 0.5F);
  const Context c{.mask = AttentionMask::causal_mask().with_segments(
                      core::from_data({kNames, kSizes}, std::span<const float>(halves)))};
  EXPECT_THAT(error_of([&] { fused(c); }), ::testing::HasSubstr("attention: indices must be i32 or i64"));
}

// Passes over the rows of a cache.
class CachedAttention : public NnAttention {
 protected:
  static std::vector<std::int64_t> both() { return {0, 1}; }
  // The positions [from, from + n) of all rows of q, k and v.
  Q part(KvCache& cache, const std::vector<std::int64_t>& rows, std::int64_t from, std::int64_t n,
         const AttentionOptions& options = {}) const {
    return part_of(cache, rows, slice<Pos>(q, from, n), slice<KeyPos>(k, from, n), slice<KeyPos>(v, from, n),
                   options);
  }
  static Q part_of(KvCache& cache, const std::vector<std::int64_t>& rows, const Q& q, const K& k, const K& v,
                   const AttentionOptions& options) {
    CachePass pass(cache, rows);
    auto out = attention<Pos, KeyPos, HeadDim>(q, k, v, Context{.layer = 1, .cache = &pass}, options);
    pass.finish(q.size<Pos>());
    return out;
  }
  // One row of x, and of it n positions.
  template <Axis P, NamedTensor X>
  static X of_row(const X& x, std::int64_t row, std::int64_t from, std::int64_t n) {
    return slice<Batch>(slice<P>(x, from, n), row, 1);
  }
};

TEST_F(CachedAttention, TokenByTokenEqualsTheWholePass) {
  for (std::int64_t window : {0, 1, 2, 3, 5}) {
    AttentionOptions options{.window = window};
    if (window % 2 == 0) options.slopes = slopes_of(alibi_slopes(kHeads * kGroup, 8));
    if (window > 1) options.sinks = slopes_of({-1, 0, 0.5F, 2, 3, -2});
    auto expected = at(fused({}, options));
    for (std::int64_t prompt : {1, 3, 6}) {
      KvCache cache(2, {kPositions, kPositions});
      for (std::int64_t p = 0, n = prompt; p < kPositions; p += n, n = 1) {
        expect_each(part(cache, both(), p, n, options), {kBatch, n, kHeads, kGroup, kDim},
                    [&](auto b, auto i, auto h, auto g, auto d) { return expected(b, p + i, h, g, d); });
      }
      EXPECT_EQ(cache.length(0), kPositions);
    }
  }
}

// Bit for bit what it gets alone, wherever the other stands.
TEST_F(CachedAttention, RowsDoNotMatterToEachOther) {
  for (std::int64_t window : {0, 2}) {
    const AttentionOptions options{.window = window};
    KvCache together(2, {kPositions, kPositions}), alone(2, {kPositions, kPositions});
    const std::int64_t starts[] = {4, 1};
    for (std::int64_t row : {0, 1}) {
      const auto n = starts[row];
      for (auto* cache : {&together, &alone})
        part_of(*cache, {row}, of_row<Pos>(q, row, 0, n), of_row<KeyPos>(k, row, 0, n),
                of_row<KeyPos>(v, row, 0, n), options);
    }
    for (std::int64_t step = 0; step < 3; ++step) {
      const auto pick = [&]<Axis P>(const auto& x) {
        return concatenate<Batch>(of_row<P>(x, 0, starts[0] + step, 1), of_row<P>(x, 1, starts[1] + step, 1));
      };
      auto out = part_of(together, both(), pick.template operator()<Pos>(q),
                         pick.template operator()<KeyPos>(k), pick.template operator()<KeyPos>(v), options);
      for (std::int64_t row : {0, 1}) {
        const auto p = starts[row] + step;
        auto one = part_of(alone, {row}, of_row<Pos>(q, row, p, 1), of_row<KeyPos>(k, row, p, 1),
                           of_row<KeyPos>(v, row, p, 1), options);
        EXPECT_TRUE(testing::same_bits(slice<Batch>(out, row, 1), one));
      }
    }
  }
}

TEST_F(CachedAttention, GoesOnFromWhereItWasCut) {
  for (std::int64_t window : {0, 3}) {
    const AttentionOptions options{.window = window};
    KvCache cache(2, {kPositions, kPositions});
    part(cache, both(), 0, 2, options);
    auto first = part(cache, both(), 2, 1, options);
    for (auto row : both()) cache.truncate(row, 2);
    EXPECT_TRUE(testing::same_bits(part(cache, both(), 2, 1, options), first));
  }
  KvCache cache(2, {200, 200});
  const auto read_all = [&] { part(cache, both(), 0, kPositions, {.window = 2}); };
  for (int i = 0; i < 20; ++i) read_all();
  EXPECT_EQ(
      error_of([&] { cache.truncate(1, 64); }),
      "cache: a row of 140 positions cannot be cut to 64: a layer with a window of 2 holds those from 128 on\n"
      "hint: read the row again from its beginning");
  cache.truncate(1, 130);
  EXPECT_EQ(cache.length(1), 130);
  for (auto row : both()) cache.truncate(row, 0);
  KvCache fresh(2, {kPositions, kPositions});
  EXPECT_TRUE(
      testing::same_bits(part(cache, both(), 0, 5, {.window = 2}), part(fresh, both(), 0, 5, {.window = 2})));
}

TEST_F(CachedAttention, Errors) {
  KvCache cache(2, {8, 8});
  part(cache, both(), 0, kPositions);
  EXPECT_EQ(error_of([&] { part(cache, both(), 0, 2); }),
            "attention: 7 cached and 2 new positions exceed the cache's 8\n"
            "hint: a shorter prompt, or fewer new tokens");
  EXPECT_EQ(error_of([&] { part(cache, {1}, 0, 1); }),
            "cache: a pass over 1 rows meets a batch of 2, of which 2 are here");
  EXPECT_EQ(error_of([&] { CachePass(cache, {1, 1}); }),
            "cache: row 1 is not there, or twice in the pass; the cache has 2");
  const std::string hint = "\nhint: a row of a cache is one text that is read on; train without one";
  CachePass pass(cache, both());
  const Context with_segments{.mask = AttentionMask::causal_mask().with_segments(segments()), .cache = &pass};
  EXPECT_EQ(error_of([&] { fused(with_segments); }), "attention: segments with a cache" + hint);
  const Context training{.key = Key::from_seed(1), .cache = &pass};
  EXPECT_EQ(error_of([&] { fused(training, {.dropout = 0.5}); }), "attention: dropout with a cache" + hint);
}

}  // namespace
}  // namespace bora::nn
