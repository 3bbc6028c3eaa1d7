// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Plans of core in cuDNN's terms, without cuDNN.
#include "sdpa.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace bora::cudnn {
namespace {

using core::AttentionArrays;
using core::AttentionPlan;
using Sizes = std::array<std::int64_t, 4>;

// Four sequences of 100 positions, 2 heads of keys for 3 of queries each, of 64; queries, keys and values are pieces of
// rows of 640 elements.
AttentionPlan plan() {
  AttentionPlan p{.batch = 4, .queries = 100, .keys = 100, .kv_heads = 2, .group = 3, .head_dim = 64};
  p.scale = 0.5F;
  p.q = p.k = p.v = {64000, 640, 64};
  p.out = {38400, 384, 64};
  p.dq = p.dk = p.dv = {64000, 640, 64};
  return p;
}

TEST(Sdpa, OfSequences) {
  const auto s = sdpa_of(plan(), {4, 2});
  EXPECT_EQ(s.q, (Operand{{4, 6, 100, 64}, {64000, 64, 640, 1}, 0}));
  EXPECT_EQ(s.k, (Operand{{4, 2, 100, 64}, {64000, 64, 640, 1}, 0}));
  EXPECT_EQ(s.v, s.k);
  EXPECT_EQ(s.out, (Operand{{4, 6, 100, 64}, {38400, 64, 384, 1}, 0}));
  EXPECT_EQ(s.stats, (Operand{{4, 6, 100, 1}, {600, 100, 1, 1}, 0}));
  EXPECT_EQ(s.dq, s.q);
  EXPECT_EQ(s.dk, s.k);
  EXPECT_EQ(s.scale, 0.5F);
  EXPECT_TRUE(s.causal);
  EXPECT_FALSE(s.bottom_right);
  EXPECT_EQ(s.left_bound, std::nullopt);
  EXPECT_EQ(s.positions, 0);
}

TEST(Sdpa, OfAPart) {
  const auto s = sdpa_of(plan(), {2, 1});
  EXPECT_EQ(s.q.dim, (Sizes{2, 3, 100, 64}));
  EXPECT_EQ(s.q.stride, (Sizes{64000, 64, 640, 1})) << "as far apart as in the whole";
  EXPECT_EQ(s.dv.dim, (Sizes{2, 1, 100, 64}));
  EXPECT_EQ(s.stats, (Operand{{2, 3, 100, 1}, {300, 100, 1, 1}, 0}));
}

// Documents are sequences of different lengths, one behind another: where each begins is told by offsets in elements.
TEST(Sdpa, OfDocuments) {
  auto p = plan();
  p.batch = 16;
  p.queries = p.keys = 128;
  p.positions = 400;
  const auto s = sdpa_of(p, {16, 2});
  EXPECT_EQ(s.q, (Operand{{16, 6, 128, 64}, {128 * 640, 64, 640, 1}, 640}));
  EXPECT_EQ(s.out.of_position, 384);
  EXPECT_EQ(s.stats, (Operand{{16, 6, 128, 1}, {768, 1, 6, 1}, 6})) << "logs of one position are neighbours";
  EXPECT_EQ(s.positions, 400);
}

TEST(Sdpa, OfBands) {
  auto p = plan();
  p.window = 10;
  EXPECT_EQ(sdpa_of(p, {4, 2}).left_bound, 10) << "the query's own key and nine before it";
  p.window = 100;
  EXPECT_EQ(sdpa_of(p, {4, 2}).left_bound, std::nullopt) << "no longer than the row";
  p.window = 0;
  p.queries = 20;
  EXPECT_TRUE(sdpa_of(p, {4, 2}).bottom_right) << "the last query stands at the last key";
  p.causal = false;
  EXPECT_FALSE(sdpa_of(p, {4, 2}).causal);
}

TEST(Sdpa, PartsTakeNoMoreRoomThanTheyMay) {
  const auto p = plan();
  constexpr std::int64_t kHead = 2 * 128 * 128;  // lengths rounded up to tiles
  EXPECT_EQ(parts_of(p, 100 * kHead), (Parts{4, 2}));
  EXPECT_EQ(parts_of(p, 24 * kHead), (Parts{4, 2}));
  EXPECT_EQ(parts_of(p, 23 * kHead), (Parts{2, 2}));
  EXPECT_EQ(parts_of(p, 6 * kHead), (Parts{1, 2}));
  EXPECT_EQ(parts_of(p, 5 * kHead), (Parts{1, 1})) << "heads of queries that share one of keys stay together";
  EXPECT_EQ(parts_of(p, 3 * kHead - 1), std::nullopt);
  EXPECT_EQ(count(p, {4, 2}), 1);
  EXPECT_EQ(count(p, {2, 1}), 4);
  // Eight heads of keys for four of queries each over 8192 positions: four at a time.
  AttentionPlan large{.batch = 1, .queries = 8192, .keys = 8192, .kv_heads = 8, .group = 4, .head_dim = 128};
  EXPECT_EQ(parts_of(large), (Parts{1, 4})) << "2 * 16 * 8192^2 bytes are just what a part may take";
  large.group = 16;
  EXPECT_EQ(parts_of(large), (Parts{1, 1}));
  large.group = 17;
  EXPECT_EQ(parts_of(large), std::nullopt);
}

// Every row is in one part, and what the forward pass has written of sums lies where the backward pass reads it.
TEST(Sdpa, PartsLieWhereTheyAre) {
  const auto p = plan();
  char* const base = nullptr;
  const AttentionArrays whole{
      .q = base + (1 << 20), .out = base + (2 << 20), .lse = reinterpret_cast<float*>(base + (3 << 20))};
  const auto part = arrays_of(p, 2, 1, whole);
  EXPECT_EQ(static_cast<const char*>(part.q) - static_cast<const char*>(whole.q), 2 * (2 * 64000 + 3 * 64));
  EXPECT_EQ(static_cast<char*>(part.out) - static_cast<char*>(whole.out), 2 * (2 * 38400 + 3 * 64));
  EXPECT_EQ(part.k, nullptr);
  EXPECT_EQ(part.starts, nullptr);
  // Logs of sums lie by sequence, then head, whatever the parts: a sequence's heads in parts come one sequence at a time.
  EXPECT_EQ(part.lse - whole.lse, (2 * 6 + 3) * 100);
  EXPECT_EQ(forward_parts(p, {2, 2}), (Parts{4, 2}));
  EXPECT_EQ(forward_parts(p, {1, 1}), (Parts{4, 2}));
  EXPECT_EQ(sdpa_of(p, {4, 2}).stats, (Operand{{4, 6, 100, 1}, {600, 100, 1, 1}, 0}));
  EXPECT_EQ(sdpa_of(p, {1, 1}).stats, (Operand{{1, 3, 100, 1}, {300, 100, 1, 1}, 0}));
}

TEST(Sdpa, PartsOfDocuments) {
  auto p = plan();
  p.batch = 16;
  p.positions = 400;
  const std::int32_t starts[17] = {};
  float logs[2400];
  const AttentionArrays whole{.q = logs, .lse = logs, .starts = starts};
  const auto part = arrays_of(p, 8, 1, whole);
  EXPECT_EQ(part.starts - starts, 8);
  EXPECT_EQ(static_cast<const char*>(part.q) - reinterpret_cast<const char*>(logs), 2 * 3 * 64)
      << "offsets count from the first document";
  EXPECT_EQ(part.lse - logs, 3 * 400);
  EXPECT_EQ(forward_parts(p, {4, 1}), (Parts{16, 1})) << "their logs lie by head";
}

TEST(Sdpa, NamesVersions) {
  EXPECT_EQ(version_text(91900), "9.19.0");
  EXPECT_EQ(version_text(91002), "9.10.2");
}

}  // namespace
}  // namespace bora::cudnn
