// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Experts by libtorch's product of groups (core/autograd/device_experts.h): against a product for each expert on the same
// device and on the CPU, what it is not asked for, and that nobody waits. The device of the tests has the op after its
// description and is counted; a GPU (TEST_DEVICE=cuda) has it itself.
#include <ATen/core/Tensor.h>
#include <ATen/ops/randint.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/device_experts.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/grouped.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "bora/core/routing.h"
#include "bora/core/rows_apart.h"
#include "bora/core/torch/device.h"
#include "fake_device.h"

namespace bora::core {
namespace {

constexpr Device kHost{};
const Device kThere = default_device();
const bool kCounted = kThere.type == Device::Type::test;
using AxisNames = std::vector<std::string_view>;
const AxisNames kTi{"t", "i"}, kTk{"t", "k"}, kSi{"s", "i"}, kSm{"s", "m"}, kXmi{"x", "m", "i"},
    kXim{"x", "i", "m"}, kXm{"x", "m"}, kXi{"x", "i"};

struct Mixture {
  std::string_view name;
  std::int64_t tokens = 24, k = 2, experts = 4, in = 16, middle = 24;
  std::function<std::int32_t(std::int64_t)> chosen = [](std::int64_t i) {
    return static_cast<std::int32_t>(i);
  };
  bool biases = false, again = false;
  DType type = DType::bf16;
};

Array drawn(std::uint64_t seed, const AxisNames& names, const std::vector<std::int64_t>& sizes,
            Device device) {
  return to(random_normal(Key::from_seed(seed), {names, sizes}), device);
}

// Of the whole numbers chosen(i) the rest by the number of experts: the result, then the gradients of x, the weights of
// choices, both maps and their biases.
using Numbers = std::vector<std::vector<float>>;
enum class Way { one_product, loop };
Numbers numbers_of(const Mixture& c, Device device, Way way) {
  const DeviceScope there(device);
  Array x = drawn(1, kTi, {c.tokens, c.in}, device), w = drawn(2, kTk, {c.tokens, c.k}, device),
        up = drawn(3, kXmi, {c.experts, c.middle, c.in}, device),
        down = drawn(4, kXim, {c.experts, c.in, c.middle}, device),
        up_bias = drawn(5, kXm, {c.experts, c.middle}, device),
        down_bias = drawn(6, kXi, {c.experts, c.in}, device);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < c.tokens * c.k; ++i)
    ids.push_back(static_cast<std::int32_t>(c.chosen(i) % c.experts));
  const std::vector<std::int64_t> sizes{c.tokens, c.k};
  const Array choices = from_data({kTk, sizes}, std::span<const std::int32_t>(ids));
  const ExpertMaps maps{c.type, {c.in, c.middle}, "x"};
  const auto narrow = [&](const Array& a, const AxisNames& names) { return cast({a, names}, c.type); };
  const auto mixed = [&](const Array& tokens) {
    const Routing r = route({choices, kTk}, c.experts, way == Way::one_product ? &maps : nullptr);
    const AxisNames t{"t"};
    const Array slots = dispatch({tokens, kTi}, r, t, kSi);
    const auto bias = [&](const Array& b, const AxisNames& names) {
      return c.biases ? narrow(b, names) : Array();
    };
    const Array middle =
        grouped_linear({slots, kSi}, r.groups, {narrow(up, kXmi), kXmi}, bias(up_bias, kXm), kSm);
    const Array act = unary(Unary::tanh, {middle, kSm});
    const Array y =
        grouped_linear({act, kSm}, r.groups, {narrow(down, kXim), kXim}, bias(down_bias, kXi), kSi);
    return combine({y, kSi}, {w, kTk}, r, kTi);
  };
  std::vector<Array*> parameters{&x, &w, &up, &down};
  std::vector<AxisNames> names{kTi, kTk, kXmi, kXim};
  if (c.biases) {
    parameters.insert(parameters.end(), {&up_bias, &down_bias});
    names.insert(names.end(), {kXm, kXi});
  }
  Array out;
  const auto result = value_and_grad(parameters, [&] {
    const std::vector<Array> in{narrow(x, kTi)};
    const auto body = [&](std::span<const Array> a) { return std::vector<Array>{mixed(a[0])}; };
    out = c.again ? checkpoint(body, in)[0] : mixed(in[0]);
    const Array wide = cast({out, kTi}, DType::f32);
    return reduce(Reduction::sum, {unary(Unary::square, {wide, kTi}), kTi}, kTi);
  });
  Numbers numbers{cast({out, kTi}, DType::f32).to_vector<float>()};
  for (const auto& g : result.gradients) numbers.push_back(g.to_vector<float>());
  return numbers;
}

void expect_near(const Numbers& got, const Numbers& want, float near) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size()) << i;
    float most = 0;
    for (const float x : want[i]) most = std::max(most, std::abs(x));
    for (std::size_t j = 0; j < got[i].size(); ++j)
      ASSERT_NEAR(got[i][j], want[i][j], near * most) << i << ' ' << j;
  }
}

// -1 where nothing is counted.
std::int64_t products_of_groups() {
  if (!kCounted) return -1;
  const auto all = fake_device::operations_by_name();
  return all.contains("aten::_grouped_mm") ? all.at("aten::_grouped_mm") : 0;
}

std::vector<Mixture> mixtures() {
  const auto scattered = [](std::int64_t i) { return static_cast<std::int32_t>((i * 7919 + i / 3) % 1009); };
  return {
      {.name = "even"},
      {.name = "scattered", .tokens = 37, .experts = 5, .chosen = scattered},
      {.name = "all to the first", .chosen = [](std::int64_t) { return 0; }},
      {.name = "all to the last", .chosen = [](std::int64_t) { return 3; }},
      {.name = "all to one in the middle", .experts = 7, .chosen = [](std::int64_t) { return 4; }},
      {.name = "many without any",
       .experts = 40,
       .chosen = [](std::int64_t i) { return i % 2 == 0 ? 3 : 31; }},
      {.name = "one token", .tokens = 1},
      {.name = "one choice", .k = 1, .chosen = scattered},
      {.name = "one expert", .k = 1, .experts = 1},
      {.name = "many choices", .k = 5, .experts = 6, .chosen = scattered},
      {.name = "multiples of 8", .tokens = 32, .k = 1},
      {.name = "very many", .tokens = 1500, .experts = 3, .in = 8, .middle = 8, .chosen = scattered},
      {.name = "biases", .chosen = scattered, .biases = true},
      {.name = "biases of empty ones", .chosen = [](std::int64_t) { return 1; }, .biases = true},
      {.name = "recomputed", .chosen = scattered, .biases = true, .again = true},
  };
}

// A GPU adds in an order of its own, and the last of bf16's 8 digits may be another one.
TEST(GroupedProducts, AsAProductForEachExpert) {
  for (const auto& c : mixtures()) {
    SCOPED_TRACE(c.name);
    fake_device::reset();
    const auto got = numbers_of(c, kThere, Way::one_product);
    // two maps forward, and the gradients of their inputs and weights
    EXPECT_EQ(products_of_groups(), !kCounted ? -1 : c.again ? 8 : 6);
    const auto loop = numbers_of(c, kThere, Way::loop);
    expect_near(got, loop, kCounted ? 4e-3F : 12e-3F);
    expect_near(got, numbers_of(c, kHost, Way::loop), kCounted ? 8e-3F : 16e-3F);
    EXPECT_EQ(numbers_of(c, kThere, Way::one_product), got) << "twice";
  }
}

// An expert's rows give what they give beside other experts' rows, and so do the sums over them.
TEST(GroupedProducts, OfAnExpertDoNotKnowTheOthers) {
  const auto of = [](std::int32_t other) {
    Mixture c{.name = "two", .tokens = 20, .k = 1};
    c.chosen = [other](std::int64_t i) { return i < 9 ? 1 : other; };
    return numbers_of(c, kThere, Way::one_product);
  };
  const auto one = of(0), two = of(3);
  for (std::size_t i = 0; i < 9 * 16; ++i) EXPECT_EQ(one[0][i], two[0][i]) << i;
  const std::size_t size = 24 * 16;
  for (const std::size_t map : {3, 4})
    for (std::size_t i = size; i < 2 * size; ++i) EXPECT_EQ(one[map][i], two[map][i]) << map << ' ' << i;
}

// The kernel's slots are those of libtorch's ops on the same device; where nobody visits, these have any visit.
TEST(GroupedProducts, SlotsAreThoseOfPlainOps) {
  const auto there = torch_device(kThere);
  for (const std::int64_t experts : {1, 5, 130, 1023}) {
    for (const std::int64_t tokens : {1, 37, 1500}) {
      SCOPED_TRACE(::testing::Message() << tokens << " tokens, " << experts << " experts");
      const at::Tensor some = at::randint(experts, {tokens, 2}, at::kLong);
      for (const auto& choices : {some, some.div(3, "floor"), some.div(3, "floor").to(at::kInt)}) {
        const auto got = autograd::plan_slots(choices.to(there), experts);
        const auto want = [&] {
          const PlainOpsScope plain;
          return autograd::plan_slots(choices.to(there), experts);
        }();
        const auto same = [](const at::Tensor& a, const at::Tensor& b) { return a.cpu().equal(b.cpu()); };
        EXPECT_TRUE(same(got.place, want.place));
        EXPECT_TRUE(same(got.rows, want.rows));
        EXPECT_TRUE(same(got.ends, want.ends));
        EXPECT_TRUE(same(got.pads, want.pads));
        const at::Tensor visited = want.place.cpu().view({-1}), pads = got.pads.cpu();
        EXPECT_TRUE(
            same(got.visits.cpu().index_select(0, visited), want.visits.cpu().index_select(0, visited)));
        EXPECT_EQ(got.visits.cpu().index_select(0, pads).count_nonzero().item<std::int64_t>(), 0);
      }
    }
  }
}

TEST(GroupedProducts, NobodyWaits) {
  if (!kCounted) GTEST_SKIP() << "a GPU is not counted";
  const DeviceScope there(kThere);
  const Array choices =
      from_data({kTk, std::vector<std::int64_t>{6, 2}},
                std::span<const std::int32_t>(std::vector<std::int32_t>{1, 0, 2, 3, 1, 2, 0, 1, 3, 2, 1, 0}));
  const ExpertMaps maps{DType::bf16, {16, 8}, "x"};
  fake_device::reset();
  const Routing r = route({choices, kTk}, 4, &maps);
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  EXPECT_EQ(fake_device::counts().operations, 1) << "39 of libtorch's ops";
  EXPECT_EQ(r.groups.to_vector<std::int32_t>(), (std::vector<std::int32_t>{8, 16, 24, 44}));
  EXPECT_EQ(r.rows.to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 4, 3, 2}));
  EXPECT_EQ(r.place.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{8, 0, 16, 24, 9, 17, 1, 10, 25, 18, 11, 2}));
}

TEST(GroupedProducts, OfAnotherNumberOfExpertsAreRefused) {
  const DeviceScope there(kThere);
  const std::vector<std::int64_t> one{2};
  const std::vector<std::int32_t> until{8, 20};
  const AxisNames x{"x"};
  const Array ends = from_data({x, one}, std::span<const std::int32_t>(until));
  const Array slots = cast({drawn(1, kSi, {20, 16}, kThere), kSi}, DType::bf16),
              weight = cast({drawn(2, kXmi, {3, 8, 16}, kThere), kXmi}, DType::bf16);
  try {
    grouped_linear({slots, kSi}, ends, {weight, kXmi}, {}, kSm);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "grouped_linear: there are the ends of 2 experts, but [s=20, i=16] and [x=3, m=8, i=16]\nhint: "
        "groups are those of the routing that made the slots");
  }
}

std::string said_of(const Mixture& c) {
  ::testing::internal::CaptureStderr();
  fake_device::reset();
  const auto got = numbers_of(c, kThere, Way::one_product);
  EXPECT_EQ(products_of_groups(), 0);
  EXPECT_EQ(got, numbers_of(c, kThere, Way::loop));
  numbers_of(c, kThere, Way::one_product);
  return ::testing::internal::GetCapturedStderr();
}

TEST(GroupedProducts, SayOnceWhyTheyAreNotUsed) {
  if (!kCounted) GTEST_SKIP() << "a GPU is not counted";
  const auto line = [](const std::string& why) {
    return "bora: experts on test by a product for each, for whose numbers of rows the host waits (" + why +
           ")\n";
  };
  EXPECT_EQ(said_of({.name = "fp32", .type = DType::f32}), line("not in bf16"));
  EXPECT_EQ(said_of({.name = "narrow", .in = 12}), line("maps of a size that is no multiple of 8"));
  EXPECT_EQ(said_of({.name = "many", .tokens = 2, .experts = 1024, .in = 8, .middle = 8}),
            line("more than 1023 of them"));
  const RowsApart apart(3);
  EXPECT_EQ(said_of({.name = "rows of a batch apart"}), "");
}

}  // namespace
}  // namespace bora::core
