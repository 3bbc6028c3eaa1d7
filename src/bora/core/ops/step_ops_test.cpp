// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The parts of a training step on arrays, our kernels against libtorch's ops.
#include "bora/core/step_ops.h"

#include <cmath>
#include <limits>

#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/plain_ops.h"
#include "bora/core/read_back.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using testing::error_of;
using testing::expect_close;
using testing::values;

Array array(std::int64_t n, double seed) { return wrap(values({n}, seed)); }

struct Trained {
  Array parameter, mean, square;
};

Trained stepped(std::int64_t n, bool nesterov) {
  Trained t{array(n, 1), array(n, 2), wrap(values({n}, 3).square())};
  const kernels::AdamW step{.learning_rate = 1e-2F,
                            .beta1 = 0.9F,
                            .beta2 = 0.95F,
                            .epsilon = 1e-8F,
                            .weight_decay = 0.1F,
                            .correction1 = 0.3F,
                            .correction2 = 0.2F,
                            .gradient_scale = 0.5F,
                            .nesterov = nesterov,
                            .correction1_next = 0.4F};
  adamw(step, t.parameter, array(n, 4), t.mean, t.square);
  add_into(t.mean, array(n, 5));
  add_scaled(t.square, 0.25F, array(n, 6));
  return t;
}

TEST(StepOps, KernelsAreAsPlainOps) {
  for (const std::int64_t n : {1, 17, 40000}) {
    for (const bool nesterov : {false, true}) {
      const Trained kernel = stepped(n, nesterov);
      const PlainOpsScope scope;
      const Trained plain = stepped(n, nesterov);
      expect_close(tensor(kernel.parameter), tensor(plain.parameter), "parameter");
      expect_close(tensor(kernel.mean), tensor(plain.mean), "mean");
      expect_close(tensor(kernel.square), tensor(plain.square), "square");
    }
  }
}

// What is rounded differs by its last bits: by at most one step of bf16 where chance falls to the other side.
TEST(StepOps, MomentsInBf16) {
  const kernels::Rounding rounding{1, 2, {1, {{7, 11, 3}}}};
  const kernels::AdamW step{1e-2F, 0.9F, 0.95F, 1e-8F, 0.1F, 0.3F, 0.2F, 0.5F};
  const auto stepped_bf16 = [&](std::int64_t n) {
    Trained t{array(n, 1), wrap(values({n}, 2).to(at::kBFloat16)),
              wrap(values({n}, 3).square().to(at::kBFloat16))};
    const AdamWArrays one{t.parameter, array(n, 4), t.mean, t.square, 0.1F, &rounding};
    adamw(step, std::span(&one, 1));
    by_chance(t.mean, array(n, 5), rounding);
    return t;
  };
  for (const std::int64_t n : {1, 17, 40000}) {
    const Trained kernel = stepped_bf16(n);
    const PlainOpsScope scope;
    const Trained plain = stepped_bf16(n);
    expect_close(tensor(kernel.parameter), tensor(plain.parameter), "parameter");
    EXPECT_TRUE(tensor(kernel.mean).eq(tensor(plain.mean)).all().item<bool>());
    const auto apart = tensor(kernel.square).to(at::kFloat).sub(tensor(plain.square).to(at::kFloat)).abs();
    EXPECT_TRUE(apart.le(tensor(plain.square).to(at::kFloat).abs().mul(0x1p-7)).all().item<bool>());
    EXPECT_LE(apart.ne(0).sum().item<std::int64_t>(), n / 1000);
  }
  Array p = array(8, 1), narrow = wrap(values({8}, 2).to(at::kBFloat16)), wide = array(8, 3),
        few = array(7, 1);
  const auto of = [&](Array& mean, Array& square) {
    const AdamWArrays one{p, wide, mean, square, 0, &rounding};
    return error_of([&] { adamw(step, std::span(&one, 1)); });
  };
  EXPECT_THAT(of(wide, narrow),
              ::testing::StartsWith("adamw: [?=8] of f32; it takes contiguous arrays of bf16"));
  Array short_one = wrap(values({7}, 2).to(at::kBFloat16));
  EXPECT_THAT(of(short_one, short_one),
              ::testing::StartsWith("adamw: 8 elements on cpu beside moments of 7 on cpu"));
  EXPECT_THAT(error_of([&] { by_chance(wide, wide, rounding); }), ::testing::HasSubstr("arrays of bf16"));
  EXPECT_THAT(error_of([&] { by_chance(narrow, few, rounding); }),
              ::testing::StartsWith("by_chance: 8 elements on cpu beside 7 on cpu"));
}

TEST(StepOps, SumsOfSquaresAreExact) {
  const Array x = array(40000, 1);
  const auto sum = [&] {
    ReadBack read;
    const Array largest = max_abs(x);
    const auto most = read.add(largest), numbers = read.add(square_numbers(x, largest));
    read.wait();
    return sum_of_squares(read.value(most), read.values(numbers));
  };
  const double kernel = sum();
  const PlainOpsScope scope;
  EXPECT_EQ(sum(), kernel);
  EXPECT_NEAR(kernel, tensor(x).to(at::kDouble).square().sum().item().toDouble(), 1e-9 * kernel);
}

TEST(StepOps, FindWhatIsNotFinite) {
  for (const bool plain : {false, true}) {
    const PlainOpsScope scope(plain);
    Array x = array(1000, 1);
    EXPECT_EQ(first_non_finite(x), -1);
    tensor(x)[700].fill_(std::numeric_limits<double>::infinity());
    tensor(x)[900].fill_(std::nan(""));
    EXPECT_EQ(first_non_finite(x), 700);
    EXPECT_TRUE(std::isnan(max_abs(x).item()));
    EXPECT_EQ(first_non_finite(array(0, 1)), -1);
    EXPECT_EQ(max_abs(array(0, 1)).item(), 0);
  }
}

TEST(StepOps, SayWhatTheyCannotTake) {
  Array x = array(4, 1);
  EXPECT_EQ(error_of([&] { add_into(x, array(3, 1)); }), "add_into: 4 elements on cpu beside 3 on cpu");
  EXPECT_EQ(error_of([&] { max_abs(wrap(values({2, 3}).to(at::kDouble))); }),
            "max_abs: [?=2, ?=3] of f64; it takes contiguous arrays of f32");
  EXPECT_EQ(error_of([&] { first_non_finite(wrap(values({2, 3}).t())); }),
            "first_non_finite: [?=3, ?=2] of f32, not contiguous; it takes contiguous arrays of f32");
}

TEST(Device, IsThatOfTheHostByDefault) {
  EXPECT_EQ(device_of(array(2, 1)), Device());
  EXPECT_EQ(default_device(), Device());
  EXPECT_EQ(error_of([] { const DeviceScope scope({Device::Type::test, 0}); }),
            "device: test is asked for, but this program has none of its kind\n"
            "hint: the tests load the plug-in fake_device");
  EXPECT_EQ(error_of([] { device_of(Array()); }),
            "device_of: the array is empty (it was never given a value)");
}

}  // namespace
}  // namespace bora::core
