// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Calls of attention on the device of a test program, with their gradients; counted where it is the device of the tests.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/attention.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "fake_device.h"

namespace bora::core {

inline constexpr Device kCpu{};
const Device kThere = default_device();
const bool kCounted = kThere.type == Device::Type::test;
using HeadNames = std::vector<std::string_view>;

inline Array made_there(std::uint64_t seed, const HeadNames& names, const std::vector<std::int64_t>& sizes,
                        DType type, Device device) {
  return to(cast({random_normal(Key::from_seed(seed), {names, sizes}), names}, type), device);
}

struct AttentionCase {
  std::string_view name;
  AttentionRule rule = {};
  std::vector<std::int32_t> segments = {};
  std::int64_t queries = 6, head_dim = 8, keys = 6;
  std::optional<DType> type = {};
  bool with_sinks = false, with_slopes = false, known = true, again = false;
};

const HeadNames kOfQ{"b", "t", "h", "g", "d"}, kOfK{"b", "s", "h", "d"}, kOfRows{"b", "t"};

/// The results, then the gradients of q, k and v.
inline std::vector<float> results_of(const AttentionCase& c, Device device, DType type) {
  const DeviceScope there(device);
  Array q = made_there(1, kOfQ, {2, c.queries, 2, 3, c.head_dim}, type, device),
        k = made_there(2, kOfK, {2, c.keys, 2, c.head_dim}, type, device),
        v = made_there(3, kOfK, {2, c.keys, 2, c.head_dim}, type, device);
  AttentionRule rule = c.rule;
  if (!c.segments.empty()) {
    const std::vector<std::int64_t> sizes{2, c.keys};
    const std::span<const std::int32_t> which(c.segments);
    rule.query_segments = rule.key_segments =
        c.known ? from_segments({kOfRows, sizes}, which) : from_data({kOfRows, sizes}, which);
    rule.segment_names = {"b", "t"};
  }
  const HeadNames heads{"h", "g"};
  if (c.with_sinks) rule.sinks = made_there(4, heads, {2, 3}, type, device);
  if (c.with_slopes) rule.slopes = made_there(5, heads, {2, 3}, DType::f32, device);
  rule.sink_names = rule.slope_names = {"h", "g"};
  const auto attend = [&](const Array& one, const Array& two, const Array& three) {
    return attention({one, kOfQ}, {two, kOfK}, {three, kOfK}, {"t", "s", "d"}, rule);
  };
  Array out;
  const std::vector<Array*> parameters{&q, &k, &v};
  const auto result = value_and_grad(parameters, [&] {
    if (c.again) {
      const std::vector<Array> all{q, k, v};
      out = checkpoint(
          [&](std::span<const Array> in) { return std::vector<Array>{attend(in[0], in[1], in[2])}; }, all)[0];
    } else {
      out = attend(q, k, v);
    }
    const Array wide = cast({out, kOfQ}, DType::f32);
    return reduce(Reduction::sum, {unary(Unary::square, {wide, kOfQ}), kOfQ}, kOfQ);
  });
  std::vector<float> numbers;
  const auto append = [&](const Array& x, const HeadNames& names) {
    const auto more = cast({x, names}, DType::f32).to_vector<float>();
    numbers.insert(numbers.end(), more.begin(), more.end());
  };
  append(out, kOfQ);
  append(result.gradients[0], kOfQ);
  append(result.gradients[1], kOfK);
  append(result.gradients[2], kOfK);
  return numbers;
}

inline void expect_within_rounding(const std::vector<float>& got, const std::vector<float>& want,
                                   float near) {
  ASSERT_EQ(got.size(), want.size());
  float most = 0;
  for (const float x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], near * most) << i;
}

/// -1 where nothing is counted.
inline std::int64_t times(const std::string& name) {
  if (!kCounted) return -1;
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}

/// What a kernel that keeps no scores computes.
inline std::vector<AttentionCase> cases_in_one_pass() {
  return {{.name = "causal"},
          {.name = "scaled", .rule = {.scale = 0.7}},
          {.name = "all keys", .rule = {.causal = false}},
          {.name = "window", .rule = {.window = 2}},
          {.name = "window of all", .rule = {.causal = false, .window = 3}},
          {.name = "window beyond the row", .rule = {.window = 100}},
          {.name = "documents", .segments = {0, 0, 1, 1, 1, -1, 4, 4, 4, 4, 3, 3}},
          {.name = "documents in a window",
           .rule = {.window = 2},
           .segments = {0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2}},
          {.name = "documents, all their keys",
           .rule = {.causal = false},
           .segments = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}},
          {.name = "a document in each row", .segments = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}},
          {.name = "last queries", .rule = {.offset = 3}, .queries = 3},
          {.name = "queries before the last keys", .rule = {.offset = 1, .window = 2}, .queries = 3},
          {.name = "one query", .rule = {.offset = 5}, .queries = 1},
          {.name = "large heads", .head_dim = 256},
          {.name = "computed again", .segments = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, .again = true}};
}

/// By these operations, the same bits twice, and within rounding of plain ops there and of the CPU.
inline void expect_as_plain_ops(const AttentionCase& c, DType type, const std::string& forward,
                                const std::string& backward) {
  SCOPED_TRACE(std::string(c.name) + " in " + std::string(name(type)));
  fake_device::reset();
  const auto got = results_of(c, kThere, type);
  if (kCounted) {
    EXPECT_EQ(times(forward), c.again ? 2 : 1);
    EXPECT_EQ(times(backward), 1);
    EXPECT_EQ(fake_device::counts().synchronizations, 4) << "for the four results";
  }
  EXPECT_EQ(results_of(c, kThere, type), got) << "the same bits again";
  EXPECT_LE(times("attention.forward"), 0);
  EXPECT_LE(times("aten::_softmax"), 0);
  std::vector<float> plain;
  {
    const PlainOpsScope scope;
    plain = results_of(c, kThere, type);
  }
  EXPECT_LE(times(forward), c.again ? 4 : 2) << "none in a scope of plain ops";
  const float near = kCounted ? 0.01F : 0.02F;  // a GPU rounds in between
  expect_within_rounding(got, plain, near);
  expect_within_rounding(got, results_of(c, kCpu, type), near);
}

}  // namespace bora::core
