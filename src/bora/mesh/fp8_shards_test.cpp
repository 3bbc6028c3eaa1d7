// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// On a device, maps in fp8 whose arrays several workers or lanes share: all scale as one would. On the CPU they are in
// bf16, of which the same holds.
#include "bora/core/fp8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_layouts.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh {
namespace {

using core::Array;
using core::DType;
using core::Operand;
using testing::Case;
using testing::Outcome;
using testing::Result;

constexpr std::string_view kFp8In[] = {"b", "p", "e"}, kFp8Inner[] = {"b", "p", "m"},
                           kFp8Out[] = {"b", "p", "o"};

std::int64_t size_in_fp8(std::string_view axis) { return axis == "p" ? 32 : axis == "m" ? 128 : 64; }

// 1 at the beginning of the axis, 2^-14 at its end.
Array falling(std::string_view axis, double sign = -1) {
  const auto n = size_in_fp8(axis);
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>(std::exp2(sign * std::floor(14.0 * double(i) / double(n)))));
  const std::string_view names[] = {axis};
  const std::int64_t sizes[] = {n};
  return core::from_data({names, sizes}, std::span<const float>(values));
}

// Shards of very different sizes, each with its own part in the result: what an own scale would round otherwise shows.
// Of one map, or of two, behind which small differences grow: another code in fp8 is a sixteenth.
Result maps_in_fp8(std::span<const Operand> in, std::string_view falls, int count) {
  const std::string_view axis[] = {falls};
  const Array down = falling(falls), up = falling(falls, 1);
  const auto scaled = [&](const Operand& x, const Array& by) {
    return std::find(x.names.begin(), x.names.end(), falls) == x.names.end()
               ? x.array
               : core::binary(core::Binary::multiply, x, {by, axis}, x.names);
  };
  const auto narrow = [&](const Operand& x, const Array& by) {
    return core::cast({scaled(x, by), x.names}, DType::bf16);
  };
  const auto wide = [&](const Array& y, core::Names names) {
    return scaled({core::cast({y, names}, DType::f32), names}, up);
  };
  const Operand first{core::unary(core::Unary::tanh, in[0]), kFp8In};
  const Array x = narrow(first, down), w = narrow(in[1], falls == "e" ? up : down);
  const Array bias =
      falls == "p" ? Array() : narrow(in[3], down);  // beside it the last rows would be nothing
  const Array h = wide(core::linear({x, kFp8In}, {w, in[1].names}, bias, kFp8Inner), kFp8Inner);
  if (count == 1) return {h, {"b", "p", "m"}};
  const Array inner =
      core::unary(core::Unary::tanh, {core::binary(core::Binary::multiply, {h, kFp8Inner}, 0.1), kFp8Inner});
  const Array w2 = narrow(in[2], down);
  const Array y = core::linear({core::cast({inner, kFp8Inner}, DType::bf16), kFp8Inner}, {w2, in[2].names},
                               narrow(in[4], down), kFp8Out);
  return {core::cast({y, kFp8Out}, DType::f32), {"b", "p", "o"}};
}

Case maps_case(std::string_view falls, int count) {
  const auto input = [](const std::vector<std::string_view>& names) {
    testing::Input out{names, {}};
    for (const auto axis : names) out.sizes.push_back(axis == "b" ? 2 : size_in_fp8(axis));
    return out;
  };
  return {"maps of falling " + std::string(falls),
          {input({"b", "p", "e"}), input({"m", "e"}), input({"o", "m"}), input({"m"}), input({"o"})},
          [=](std::span<const Operand> in) { return maps_in_fp8(in, falls, count); }};
}

Outcome run_in_fp8(const Case& c, bool on = true) {
  const core::Fp8Scope scope(on);
  return testing::run(c);
}

Outcome fp8_on_workers(const Case& c, const MeshShape& shape, const Mesh::Rules& rules) {
  std::mutex mutex;
  Outcome out;
  const auto errors = testing::run_workers({.count = shape.workers()}, [&](Communicator& all) {
    const Mesh mesh(testing::borrowed(all), shape, rules);
    const core::MappingScope scope(mesh.mapping());
    Outcome own = run_in_fp8(c);
    const std::lock_guard lock(mutex);
    if (all.rank() == 0) out = std::move(own);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "") << c.name;
  return out;
}

void expect_near_in_fp8(const Outcome& got, const Outcome& want, const std::string& what) {
  EXPECT_LE(testing::error_of(got.value, want.value), 1e-2F) << what;
  for (std::size_t i = 0; i < want.gradients.size(); ++i)
    EXPECT_LE(testing::error_of(got.gradients[i], want.gradients[i]), 1e-2F) << what << ", gradient " << i;
}

TEST(Fp8Shards, AreScaledAsTheWholeArray) {
  for (const std::string_view axis : {"p", "m", "e"}) {
    const Case c = maps_case(axis, 1);
    const Outcome one = run_in_fp8(c);
    const std::vector<core::AxisRule> rule{{std::string(axis), "model"}};
    for (const int workers : {2, 4})
      expect_near_in_fp8(fp8_on_workers(c, {.model = workers}, {rule, {}}), one,
                         std::string(axis) + " on " + std::to_string(workers));
    const std::vector<core::AxisRule> both{{std::string(axis), "model"},
                                           {axis == "p" ? "m" : "p", "context"}};
    expect_near_in_fp8(fp8_on_workers(c, {.context = 2, .model = 2}, {both, {}}), one,
                       std::string(axis) + " on 2 x 2");
    if (core::default_device() != core::Device()) {
      EXPECT_GT(testing::error_of(run_in_fp8(c, false).value, one.value), 2e-2F) << axis << " in fp8";
    }
  }
}

TEST(Fp8Shards, WhatIsNotFiniteOnOneWorkerIsSeenByAll) {
  const Case c{
      "a map", {{{"b", "p", "e"}, {2, 32, 64}}, {{"m", "e"}, {128, 64}}}, [](std::span<const Operand> in) {
        std::vector<float> last(32, 1.0F);
        last.back() = INFINITY;
        const std::string_view p[] = {"p"};
        const std::int64_t sizes[] = {32};
        const Array by = core::from_data({p, sizes}, std::span<const float>(last));
        const Array x =
            core::cast({core::binary(core::Binary::multiply, in[0], {by, p}, kFp8In), kFp8In}, DType::bf16);
        const Array w = core::cast(in[1], DType::bf16),
                    y = core::linear({x, kFp8In}, {w, in[1].names}, {}, kFp8Inner);
        return Result{core::cast({y, kFp8Inner}, DType::f32), {"b", "p", "m"}};
      }};
  const Outcome two = fp8_on_workers(c, {.model = 2}, {{{"p", "model"}}, {}});
  EXPECT_TRUE(std::isnan(two.value.back()));
  EXPECT_EQ(std::isnan(two.value.front()), core::default_device() != core::Device()) << "of the other worker";
}

TEST(Fp8Shards, HaveTheSameBitsInLanes) {
  for (const std::string_view axis : {"m", "e"}) {
    const Case c = maps_case(axis, 2);
    const std::vector<core::AxisRule> rules{{std::string(axis), "model"}};
    const auto of = [&](int workers) { return fp8_on_workers(c, {.model = workers}, {rules, rules, 4}); };
    const Outcome one = of(1);
    for (const int workers : {2, 4}) {
      const Outcome several = of(workers);
      EXPECT_EQ(several.value, one.value) << axis << " on " << workers;
      EXPECT_EQ(several.gradients.size(), one.gradients.size());
      for (std::size_t i = 0; i < one.gradients.size(); ++i)
        EXPECT_EQ(several.gradients[i], one.gradients[i]) << axis << " on " << workers << ", gradient " << i;
    }
  }
}

}  // namespace
}  // namespace bora::mesh
