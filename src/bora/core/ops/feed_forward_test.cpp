// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// On a device with products that have an activation in them these are those, in bf16; elsewhere three operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/activation.h"
#include "bora/core/cast_once.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/fp8.h"
#include "bora/core/grad.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using AxisNames = std::vector<std::string_view>;
using Numbers = std::vector<float>;
constexpr Device kHost{};
const Device kDevice = default_device();
const bool kIsGpu = kDevice.type == Device::Type::cuda;
constexpr std::int64_t kBatch = 8, kTime = 16, kHeads = 2, kMiddle = 32;

struct Setting {
  std::int64_t width = 64;  // of what is mapped: a multiple of 8 or not
  bool up_bias = true, down_bias = true, again = false;
  Activation f = Activation::gelu_tanh;
  DType type = DType::bf16;
};

// How the three are called.
enum class Called { together, apart };

struct FeedForwardCase {
  AxisNames of_x{"b", "t", "e"}, of_up{"h", "m", "e"}, of_up_bias{"h", "m"}, of_down{"e", "h", "m"},
      of_down_bias{"e"}, inner{"b", "t", "h", "m"}, out{"e", "t", "b"};
  Setting s;
  Array x, up, up_bias, down, down_bias;

  FeedForwardCase(Device device, const Setting& setting) : s(setting) {
    const auto drawn = [&](std::uint64_t seed, const AxisNames& names,
                           const std::vector<std::int64_t>& sizes) {
      return to(random_normal(Key::from_seed(seed), {names, sizes}), device);
    };
    x = drawn(1, of_x, {kBatch, kTime, s.width});
    up = drawn(2, of_up, {kHeads, kMiddle, s.width});
    down = drawn(3, of_down, {s.width, kHeads, kMiddle});
    if (s.up_bias) up_bias = drawn(4, of_up_bias, {kHeads, kMiddle});
    if (s.down_bias) down_bias = drawn(5, of_down_bias, {s.width});
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> all{{.path = "up", .axes = of_up, .array = &up},
                               {.path = "down", .axes = of_down, .array = &down}};
    if (s.up_bias)
      all.push_back({.path = "up_bias", .axes = of_up_bias, .role = Role::bias, .array = &up_bias});
    if (s.down_bias)
      all.push_back({.path = "down_bias", .axes = of_down_bias, .role = Role::bias, .array = &down_bias});
    return all;
  }
  Array as(const Array& p, const AxisNames& names) const { return p.empty() ? p : cast({p, names}, s.type); }

  Array result(const Array& h, Called called) const {
    const Array u = as(up, of_up), ub = as(up_bias, of_up_bias), d = as(down, of_down),
                db = as(down_bias, of_down_bias);
    if (called == Called::together)
      return feed_forward({h, of_x}, {{u, of_up}, ub, inner}, s.f, {{d, of_down}, db, out});
    const Array z = linear({h, of_x}, {u, of_up}, ub, inner);
    return linear({activate(s.f, {z, inner}), inner}, {d, of_down}, db, out);
  }
  Array loss(Called called) const {
    const Array h = as(x, of_x);
    // It is called again when this function has returned.
    const auto body = [this, called](std::span<const Array> in) {
      return std::vector<Array>{result(in[0], called)};
    };
    const std::vector<Array> in{h};
    const Array y = cast({s.again ? checkpoint(body, in)[0] : body(in)[0], out}, DType::f32);
    return reduce(Reduction::sum, {unary(Unary::square, {y, out}), out}, out);
  }
  // The loss, and the gradients of those `wanted`.
  Numbers gradients(Called called, const std::vector<Array*>& wanted) {
    const auto all = parameters();
    const CastOnceScope once(all);
    const auto found = value_and_grad(wanted, [&] { return loss(called); });
    Numbers out{found.value.to_vector<float>()};
    for (const auto& g : found.gradients) {
      EXPECT_EQ(g.dtype(), DType::f32);
      const auto more = g.to_vector<float>();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  Numbers gradients(Called called) {
    std::vector<Array*> wanted{&x, &up, &down};
    if (s.up_bias) wanted.push_back(&up_bias);
    if (s.down_bias) wanted.push_back(&down_bias);
    return gradients(called, wanted);
  }
};

Numbers gradients_of(Device device, const Setting& s, Called called) {
  return FeedForwardCase(device, s).gradients(called);
}

void expect_near(const Numbers& got, const Numbers& want, float near) {
  ASSERT_EQ(got.size(), want.size());
  EXPECT_NEAR(got[0], want[0], near * std::abs(want[0])) << "the loss";
  float most = 0;
  for (std::size_t i = 1; i < want.size(); ++i) most = std::max(most, std::abs(want[i]));
  for (std::size_t i = 1; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], near * most) << i;
}

TEST(FeedForward, IsNearThreeOperations) {
  for (const int biases : {0, 1, 2, 3}) {
    for (const bool again : {false, true}) {
      SCOPED_TRACE(std::to_string(biases) + (again ? ", again" : ""));
      const Setting s{.up_bias = biases % 2 == 1, .down_bias = biases / 2 == 1, .again = again};
      const auto got = gradients_of(kDevice, s, Called::together);
      EXPECT_EQ(gradients_of(kDevice, s, Called::together), got) << "the same bits again";
      expect_near(got, gradients_of(kDevice, s, Called::apart), 0.02F);
      expect_near(got, gradients_of(kHost, s, Called::together), 0.02F);
      const PlainOpsScope plain;
      expect_near(got, gradients_of(kDevice, s, Called::together), 0.02F);
    }
  }
  EXPECT_EQ(gradients_of(kDevice, {.again = true}, Called::together),
            gradients_of(kDevice, {}, Called::together));
}

// What stops a run whose numbers are not finite gets to see them: an activation in a product lets them through, both ways.
TEST(FeedForward, LetsThroughWhatIsNotFinite) {
  FeedForwardCase c(kDevice, {});
  auto values = c.x.to_vector<float>();
  values[0] = std::nanf("");
  const std::vector<std::int64_t> sizes{kBatch, kTime, c.s.width};
  c.x = to(from_data({c.of_x, sizes}, std::span<const float>(values)), kDevice);
  const auto y = cast({c.result(c.as(c.x, c.of_x), Called::together), c.out}, DType::f32).to_vector<float>();
  const auto all = c.gradients(Called::together, {&c.x});
  const auto width = static_cast<std::size_t>(c.s.width), of_a_text = static_cast<std::size_t>(kTime) * width;
  for (std::size_t e = 0; e < width; ++e) {
    const std::size_t of_row = e * static_cast<std::size_t>(kTime * kBatch);  // y [e, t, b]
    EXPECT_TRUE(std::isnan(y[of_row])) << e;
    EXPECT_TRUE(std::isfinite(y[of_row + 1])) << e;
    EXPECT_TRUE(std::isnan(all[1 + e])) << e;  // behind the loss, of x [b, t, e]
    EXPECT_TRUE(std::isfinite(all[1 + of_a_text + e])) << e;
  }
}

// The library's answer, for the sizes of GPT-2.
TEST(FeedForward, HasSuchProductsOnItsDevice) {
  if (kDevice == kHost) GTEST_SKIP() << "of devices";
  const std::int64_t rows = kIsGpu ? 8192 : 64, n = kIsGpu ? 3072 : 96, k = kIsGpu ? 768 : 24;
  const auto halves = [](std::int64_t m, std::int64_t columns) {
    const std::vector<std::int64_t> sizes{m, columns};
    const AxisNames names{"m", "n"};
    return to(cast({full({names, sizes}, 0.5), names}, DType::bf16), kDevice);
  };
  const Array x = halves(rows, k), weight = halves(n, k), bias = halves(1, n), z = halves(rows, n),
              y = halves(rows, n), dy = halves(rows, k), second = halves(k, n), dz = halves(rows, n);
  const auto& entry = device_kernels(tensor(x)).activated_product;
  ASSERT_NE(entry.takes, nullptr);
  if (!entry.takes(Activation::gelu_tanh, DType::bf16)) GTEST_SKIP() << "of GPUs of compute capability 9";
  EXPECT_FALSE(entry.takes(Activation::gelu, DType::bf16));
  EXPECT_FALSE(entry.takes(Activation::gelu_tanh, DType::f32));
  const Array room = halves(1, entry.room / 2);
  const auto at = [](const Array& a) { return tensor(a).mutable_data_ptr(); };
  for (const void* with : {static_cast<const void*>(at(bias)), static_cast<const void*>(nullptr)}) {
    EXPECT_TRUE(entry.forward(Activation::gelu_tanh, DType::bf16, rows, n, k, at(x), at(weight), with, at(z),
                              at(y), at(room), stream_of(tensor(x))));
  }
  EXPECT_TRUE(entry.backward(Activation::gelu_tanh, DType::bf16, rows, n, k, at(dy), at(second), at(z),
                             at(dz), at(room), stream_of(tensor(x))));
  const float sum = static_cast<float>(k) / 4;
  const AxisNames names{"m", "n"};
  EXPECT_EQ(cast({z, names}, DType::f32).to_vector<float>()[0], sum);
  EXPECT_EQ(cast({y, names}, DType::f32).to_vector<float>()[0], sum) << "GELU of a large number";
  EXPECT_EQ(cast({dz, names}, DType::f32).to_vector<float>()[0], sum);
}

TEST(FeedForward, IsThreeOperationsWhereNoProductHasTheActivation) {
  const auto bits_of_three = [](const Setting& s) {
    const auto together = gradients_of(kDevice, s, Called::together);
    EXPECT_EQ(together, gradients_of(kDevice, s, Called::apart));
  };
  bits_of_three({.f = Activation::gelu});
  bits_of_three({.f = Activation::relu});
  bits_of_three({.type = DType::f32});
  bits_of_three({.width = 5});
  if (!kIsGpu) {  // of which not all multiply in fp8
    const Fp8Scope fp8(true);
    bits_of_three({});
  }
  EXPECT_EQ(gradients_of(kHost, {}, Called::together), gradients_of(kHost, {}, Called::apart));
}

TEST(FeedForward, HasTheGradientsThatAreAskedFor) {
  FeedForwardCase c(kDevice, {});
  const auto all = c.gradients(Called::together);
  std::size_t first = 1;
  for (Array* one : {&c.x, &c.up, &c.down, &c.up_bias, &c.down_bias}) {
    const auto got = c.gradients(Called::together, {one});
    const auto n = static_cast<std::size_t>(one->numel());
    ASSERT_EQ(got.size(), n + 1);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(got[i + 1], all[first + i]) << i;
    first += n;
  }
}

TEST(FeedForward, IsComputedWithoutGradients) {
  FeedForwardCase c(kDevice, {});
  const auto value = c.loss(Called::together).to_vector<float>();
  EXPECT_EQ(value[0], c.gradients(Called::together)[0]) << "a block that is computed again has the same bits";
}

TEST(FeedForward, SaysWhichSizesDiffer) {
  FeedForwardCase c(kDevice, {});
  c.down =
      to(random_normal(Key::from_seed(6), {c.of_down, std::vector<std::int64_t>{64, kHeads, 16}}), kDevice);
  try {
    (void)c.loss(Called::together);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("axis m is 32 in"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("but 16 in"));
  }
}

}  // namespace
}  // namespace bora::core
