// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a layer is computed with on a device: attention, maps of one input, norms of sums, each by kernels and by plain
// ops, and against the CPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "bora/core/attention.h"
#include "bora/core/cast_once.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/fp8.h"
#include "bora/core/grad.h"
#include "bora/core/norm.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "bora/core/rope.h"
#include "bora/core/step_ops.h"
#include "fake_device.h"

namespace bora::core {
namespace {

constexpr Device kHere{}, kFar{Device::Type::test, 0};
using AxisNames = std::vector<std::string_view>;
using Numbers = std::vector<float>;

Array drawn(std::uint64_t seed, const AxisNames& names, const std::vector<std::int64_t>& sizes, DType type,
            Device device) {
  return to(cast({random_normal(Key::from_seed(seed), {names, sizes}), names}, type), device);
}

Numbers numbers_of(const Array& x, const AxisNames& names) {
  return cast({x, names}, DType::f32).to_vector<float>();
}

void expect_all_near(const Numbers& got, const Numbers& want, float near) {
  ASSERT_EQ(got.size(), want.size());
  float most = 1e-3F;
  for (const float x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], near * most) << i;
}

Array sum_of_squares_of(const Array& x, const AxisNames& names) {
  const Array wide = cast({x, names}, DType::f32);
  return reduce(Reduction::sum, {unary(Unary::square, {wide, names}), names}, names);
}

std::int64_t count_of(const std::string& name) {
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}

struct AttentionCase {
  std::string_view name;
  AttentionRule rule;
  bool segments = false;
  std::int64_t queries = 5;
};

// The gradients of q, k and v.
Numbers attention_gradients(const AttentionCase& c, Device device, DType type) {
  const AxisNames of_q{"b", "t", "h", "g", "d"}, of_k{"b", "s", "h", "d"};
  Array q = drawn(1, of_q, {2, c.queries, 2, 3, 4}, type, device),
        k = drawn(2, of_k, {2, 5, 2, 4}, type, device), v = drawn(3, of_k, {2, 5, 2, 4}, type, device);
  AttentionRule rule = c.rule;
  if (c.segments) {
    const std::vector<std::int32_t> which{0, 0, 1, 1, 1, 2, 2, 2, 2, 3};
    const AxisNames bt{"b", "t"};
    const std::vector<std::int64_t> sizes{2, 5};
    rule.query_segments = rule.key_segments =
        to(from_data({bt, sizes}, std::span<const std::int32_t>(which)), device);
    rule.segment_names = {"b", "t"};
  }
  const std::vector<Array*> parameters{&q, &k, &v};
  const auto result = value_and_grad(parameters, [&] {
    return sum_of_squares_of(attention({q, of_q}, {k, of_k}, {v, of_k}, {"t", "s", "d"}, rule), of_q);
  });
  Numbers out = numbers_of(result.gradients[0], of_q);
  for (const int i : {1, 2}) {
    const auto more = numbers_of(result.gradients[static_cast<std::size_t>(i)], of_k);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

TEST(LayerKernels, AttentionByKernelAndByPlainOp) {
  const AttentionCase cases[] = {{"causal", {}},
                                 {"window", {.window = 2}},
                                 {"capped", {.soft_cap = 2}},
                                 {"segments", {}, true},
                                 {"fewer queries", {.offset = 2}, false, 3}};
  for (const auto& c : cases) {
    for (const auto type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(std::string(c.name) + " in " + std::string(name(type)));
      fake_device::reset();
      const auto got = attention_gradients(c, kFar, type);
      EXPECT_EQ(count_of("attention.forward"), 1);
      EXPECT_EQ(count_of("attention.backward"), 1);
      EXPECT_EQ(attention_gradients(c, kFar, type), got) << "the same bits again";
      Numbers plain;
      {
        const PlainOpsScope scope;
        plain = attention_gradients(c, kFar, type);
      }
      EXPECT_EQ(count_of("attention.forward"), 2) << "none in a scope of plain ops";
      const float near = type == DType::f32 ? 5e-6F : 0.02F;
      expect_all_near(got, plain, near);
      expect_all_near(got, attention_gradients(c, kHere, type), near);
    }
  }
}

enum class Angles { same, others, asked_for };

// The gradients of queries, keys and values, the first two turned by angles of their places.
Numbers turned_gradients(Device device, DType type, Angles angles, bool again) {
  const AxisNames of_q{"b", "t", "h", "g", "d"}, of_k{"b", "t", "h", "d"}, of_keys{"b", "s", "h", "d"},
      of_angles{"t", "half"};
  Array q = drawn(1, of_q, {2, 5, 2, 3, 8}, type, device), k = drawn(2, of_k, {2, 5, 2, 8}, type, device),
        v = drawn(3, of_keys, {2, 5, 2, 8}, type, device);
  const Array cos = drawn(4, of_angles, {5, 3}, DType::f32, device),
              sin = drawn(5, of_angles, {5, 3}, DType::f32, device),
              other = angles == Angles::others ? drawn(6, of_angles, {5, 3}, DType::f32, device) : sin;
  const auto body = [&](std::span<const Array> in) {
    const Array queries = rope({in[0], of_q}, "t", "d", cos, sin),
                keys = rope({in[1], of_k}, "t", "d", cos, other);
    EXPECT_EQ(queries.sizes(), q.sizes());
    EXPECT_EQ(keys.dtype(), type);
    if (angles == Angles::asked_for) unary(Unary::negative, {keys, of_k});
    return std::vector<Array>{
        attention({queries, of_q}, {keys, of_keys}, {in[2], of_keys}, {"t", "s", "d"}, {})};
  };
  const std::vector<Array*> parameters{&q, &k, &v};
  const auto result = value_and_grad(parameters, [&] {
    const std::vector<Array> all{q, k, v};
    return sum_of_squares_of(again ? checkpoint(body, all)[0] : body(all)[0], of_q);
  });
  Numbers out = numbers_of(result.gradients[0], of_q);
  for (const std::size_t i : {1, 2}) {
    const auto more = numbers_of(result.gradients[i], i == 1 ? of_k : of_keys);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

TEST(LayerKernels, QueriesAndKeysAreTurnedByOneKernel) {
  for (const auto type : {DType::f32, DType::bf16}) {
    for (const bool again : {false, true}) {
      for (const auto angles : {Angles::same, Angles::others, Angles::asked_for}) {
        SCOPED_TRACE(std::string(name(type)) + (again ? ", again, " : ", ") + std::to_string(int(angles)));
        fake_device::reset();
        const auto got = turned_gradients(kFar, type, angles, again);
        const int passes = again ? 3 : 2, each = angles == Angles::same ? 1 : 2;
        EXPECT_EQ(count_of("rope"), passes * each);
        const float near = type == DType::f32 ? 5e-6F : 0.03F;
        expect_all_near(got, turned_gradients(kHere, type, angles, again), near);
        const PlainOpsScope plain;
        expect_all_near(got, turned_gradients(kFar, type, angles, again), near);
      }
    }
  }
}

// How many operations have the activation within a product, and by itself.
std::pair<std::int64_t, std::int64_t> activations_of(Activation f, DType type, std::int64_t width,
                                                     bool again) {
  const AxisNames of_x{"t", "e"}, of_up{"m", "e"}, of_inner{"t", "m"}, of_down{"e", "m"};
  Array x = drawn(1, of_x, {5, width}, type, kFar);
  const Array up = drawn(2, of_up, {16, width}, type, kFar),
              down = drawn(3, of_down, {width, 16}, type, kFar), no_bias;
  const auto body = [&](std::span<const Array> in) {
    return std::vector<Array>{
        feed_forward({in[0], of_x}, {{up, of_up}, no_bias, of_inner}, f, {{down, of_down}, no_bias, of_x})};
  };
  fake_device::reset();
  const std::vector<Array*> parameters{&x};
  (void)value_and_grad(parameters, [&] {
    const std::vector<Array> in{x};
    return sum_of_squares_of(again ? checkpoint(body, in)[0] : body(in)[0], of_x);
  });
  return {count_of("activated_product.forward") + count_of("activated_product.backward"),
          count_of("activate.forward") + count_of("activate.backward")};
}

TEST(LayerKernels, AnActivationIsWithinTheProductsAroundIt) {
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(activations_of(Activation::gelu_tanh, DType::bf16, 8, false), Counts(2, 0));
  EXPECT_EQ(activations_of(Activation::gelu_tanh, DType::bf16, 8, true), Counts(3, 0));
  EXPECT_EQ(activations_of(Activation::gelu_tanh, DType::f32, 8, false), Counts(0, 2));
  EXPECT_EQ(activations_of(Activation::gelu, DType::bf16, 8, false), Counts(0, 2));
  EXPECT_EQ(activations_of(Activation::gelu_tanh, DType::bf16, 12, false), Counts(0, 2))
      << "no multiple of 8";
  const Fp8Scope fp8(true);
  EXPECT_EQ(activations_of(Activation::gelu_tanh, DType::bf16, 16, false), Counts(0, 2));
}

// Three maps of one input, and the gradients of all.
struct Maps {
  AxisNames of_x{"b", "e"}, of_a{"f", "e"}, of_b{"h", "d", "e"}, of_bias_a{"f"}, of_bias_b{"h", "d"},
      ya{"b", "f"}, yb{"b", "h", "d"};
  Array x, a, bias_a, b, bias_b;
  Maps(Device device, bool with_bias, std::int64_t width) {
    x = drawn(1, of_x, {5, 6}, DType::f32, device);
    a = drawn(2, of_a, {width, 6}, DType::f32, device);
    b = drawn(3, of_b, {2, 4, 6}, DType::f32, device);
    if (!with_bias) return;
    bias_a = drawn(4, of_bias_a, {width}, DType::f32, device);
    bias_b = drawn(5, of_bias_b, {2, 4}, DType::f32, device);
  }
  Numbers gradients(DType type, bool together) {
    std::vector<Parameter> all{{.path = "a", .axes = of_a, .array = &a},
                               {.path = "b", .axes = of_b, .array = &b}};
    std::vector<Array*> arrays{&x, &a, &b};
    std::vector<AxisNames> names{of_x, of_a, of_b};
    if (!bias_a.empty()) {
      all.push_back({.path = "bias_a", .axes = of_bias_a, .role = Role::bias, .array = &bias_a});
      all.push_back({.path = "bias_b", .axes = of_bias_b, .role = Role::bias, .array = &bias_b});
      arrays.insert(arrays.end(), {&bias_a, &bias_b});
      names.insert(names.end(), {of_bias_a, of_bias_b});
    }
    const CastOnceScope once(all);
    const auto result = value_and_grad(arrays, [&] {
      const auto as = [&](const Array& p, const AxisNames& n) { return p.empty() ? p : cast({p, n}, type); };
      const Array h = as(x, of_x), wa = as(a, of_a), wb = as(b, of_b), ba = as(bias_a, of_bias_a),
                  bb = as(bias_b, of_bias_b);
      const std::vector<LinearMap> maps{{{wa, of_a}, ba, ya}, {{wb, of_b}, bb, yb}};
      const auto y = together ? linears({h, of_x}, maps)
                              : std::vector<Array>{linear({h, of_x}, {wa, of_a}, ba, ya),
                                                   linear({h, of_x}, {wb, of_b}, bb, yb)};
      return binary(Binary::add, {sum_of_squares_of(y[0], ya), {}}, {sum_of_squares_of(y[1], yb), {}}, {});
    });
    Numbers out;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ(result.gradients[i].dtype(), DType::f32);
      const auto more = numbers_of(result.gradients[i], names[i]);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
};

// Queries, keys and values of one product, the first two turned; what `used` says is used once more behind attention. The
// gradients of the weights, and of x.
enum class Used { once, keys_again, values_again };
Numbers gradients_of_heads(Device device, DType type, Used used, bool again) {
  const AxisNames of_x{"b", "t", "e"}, of_wq{"h", "g", "d", "e"}, of_wk{"h", "d", "e"},
      of_q{"b", "t", "h", "g", "d"}, of_k{"b", "t", "h", "d"}, of_keys{"b", "s", "h", "d"},
      of_angles{"t", "half"};
  const auto small = [&](std::uint64_t seed, const AxisNames& names, const std::vector<std::int64_t>& sizes) {
    return binary(Binary::multiply, {drawn(seed, names, sizes, DType::f32, device), names}, 0.25);
  };
  Array x = drawn(1, of_x, {2, 5, 16}, DType::f32, device), wq = small(2, of_wq, {2, 2, 8, 16}),
        wk = small(3, of_wk, {2, 8, 16}), wv = small(4, of_wk, {2, 8, 16});
  const Array cos = drawn(5, of_angles, {5, 4}, DType::f32, device),
              sin = drawn(6, of_angles, {5, 4}, DType::f32, device), no_bias;
  const std::vector<Parameter> all{{.path = "q", .axes = of_wq, .array = &wq},
                                   {.path = "k", .axes = of_wk, .array = &wk},
                                   {.path = "v", .axes = of_wk, .array = &wv}};
  const CastOnceScope once(all);
  const auto body = [&](std::span<const Array> in) {
    const Array a = cast({wq, of_wq}, type), b = cast({wk, of_wk}, type), c = cast({wv, of_wk}, type);
    const std::vector<LinearMap> maps{
        {{a, of_wq}, no_bias, of_q}, {{b, of_wk}, no_bias, of_k}, {{c, of_wk}, no_bias, of_k}};
    const auto qkv = linears({in[0], of_x}, maps);
    const Array q = rope({qkv[0], of_q}, "t", "d", cos, sin), k = rope({qkv[1], of_k}, "t", "d", cos, sin);
    std::vector<Array> out{attention({q, of_q}, {k, of_keys}, {qkv[2], of_keys}, {"t", "s", "d"}, {})};
    if (used != Used::once) out.push_back(used == Used::keys_again ? k : qkv[2]);
    return out;
  };
  const std::vector<Array*> parameters{&x, &wq, &wk, &wv};
  const auto result = value_and_grad(parameters, [&] {
    const std::vector<Array> in{cast({x, of_x}, type)};
    const auto out = again ? checkpoint(body, in) : body(in);
    const Array first = sum_of_squares_of(out[0], of_q);
    return out.size() == 1 ? first
                           : binary(Binary::add, {first, {}}, {sum_of_squares_of(out[1], of_k), {}}, {});
  });
  Numbers numbers;
  for (const auto& g : result.gradients) {
    const auto more = g.to_vector<float>();
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

TEST(LayerKernels, GradientsAreTurnedBackWhereTheyLie) {
  for (const bool again : {false, true}) {
    for (const auto used : {Used::once, Used::keys_again, Used::values_again}) {
      SCOPED_TRACE(std::to_string(int(used)) + (again ? ", again" : ""));
      fake_device::reset();
      const auto got = gradients_of_heads(kFar, DType::bf16, used, again);
      EXPECT_EQ(count_of("aten::cat"), used == Used::once ? 0 : 1)
          << "gradients that lie side by side are not put together";
      EXPECT_EQ(gradients_of_heads(kFar, DType::bf16, used, again), got) << "the same bits again";
      expect_all_near(got, gradients_of_heads(kHere, DType::bf16, used, again), 0.03F);
      const PlainOpsScope plain;
      expect_all_near(got, gradients_of_heads(kFar, DType::bf16, used, again), 0.03F);
    }
  }
}

TEST(LayerKernels, MapsOfOneInputAreOneProduct) {
  for (const bool with_bias : {false, true}) {
    SCOPED_TRACE(with_bias);
    const auto products = [] { return count_of("aten::mm") + count_of("aten::addmm"); };
    fake_device::reset();
    const auto got = Maps(kFar, with_bias, 8).gradients(DType::bf16, true);
    EXPECT_EQ(products(), 3) << "forward, and two backward";
    fake_device::reset();
    const auto apart = Maps(kFar, with_bias, 8).gradients(DType::bf16, false);
    EXPECT_EQ(products(), 6);
    expect_all_near(got, apart, 0.02F);
    expect_all_near(got, Maps(kHere, with_bias, 8).gradients(DType::bf16, true), 0.02F);
    EXPECT_EQ(Maps(kFar, with_bias, 8).gradients(DType::bf16, true), got) << "the same bits again";
    fake_device::reset();
    Maps(kFar, with_bias, 8).gradients(DType::f32, true);
    EXPECT_EQ(products(), 6) << "fp32 parameters lie anywhere";
    EXPECT_EQ(Maps(kHere, with_bias, 8).gradients(DType::f32, true),
              Maps(kHere, with_bias, 8).gradients(DType::f32, false))
        << "on the CPU as one by one";
  }
}

// Between a weight or bias of 5 · 6 elements and the next there is a gap.
TEST(LayerKernels, MapsThatDoNotLieTogetherAreProductsOfTheirOwn) {
  fake_device::reset();
  const auto got = Maps(kFar, true, 5).gradients(DType::bf16, true);
  EXPECT_EQ(count_of("aten::mm") + count_of("aten::addmm"), 6);
  expect_all_near(got, Maps(kHere, true, 5).gradients(DType::bf16, true), 0.02F);
}

// Gradients of weights are not rounded to bf16.
TEST(LayerKernels, GradientsOfWeightsAreFp32) {
  bool finer = false;
  for (const float g : Maps(kFar, false, 8).gradients(DType::bf16, true)) {
    finer = finer || (std::bit_cast<std::uint32_t>(g) & 0xffffU) != 0;
  }
  EXPECT_TRUE(finer);
}

// norm(x + y) · (x + y), the sum used again or not, in a block that is computed again or not.
struct SumNorm {
  AxisNames be{"b", "t", "e"}, e{"e"};
  Array x, y, w;
  bool centred, again;
  SumNorm(Device device, DType type, bool is_centred, bool is_again) : centred(is_centred), again(is_again) {
    x = drawn(1, be, {2, 3, 8}, type, device);
    y = drawn(2, be, {2, 3, 8}, type, device);
    w = drawn(3, e, {8}, DType::f32, device);
  }
  Array body(const Array& left, const Array& right, bool uses_sum) const {
    const Array a = unary(Unary::negative, {left, be}), b = unary(Unary::negative, {right, be});
    const Array sum = binary(Binary::add, {a, be}, {b, be}, be);
    EXPECT_EQ(sum.sizes(), x.sizes());
    EXPECT_EQ(sum.dtype(), x.dtype());
    const Array normed = centred ? layer_norm({sum, be}, w, {}, e, 1e-5) : rms_norm({sum, be}, w, e, 1e-5);
    return uses_sum ? binary(Binary::multiply, {normed, be}, {sum, be}, be) : normed;
  }
  Numbers gradients(bool uses_sum) {
    const std::vector<Array*> parameters{&x, &y, &w};
    const auto result = value_and_grad(parameters, [&] {
      if (!again) return sum_of_squares_of(body(x, y, uses_sum), be);
      const std::vector<Array> both{x, y};
      const auto out = checkpoint(
          [this, uses_sum](std::span<const Array> in) {
            return std::vector<Array>{body(in[0], in[1], uses_sum)};
          },
          both);
      return sum_of_squares_of(out[0], be);
    });
    Numbers out{static_cast<float>(result.value.item())};
    const AxisNames* const names[] = {&be, &be, &e};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto more = numbers_of(result.gradients[i], *names[i]);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
};

TEST(LayerKernels, ASumWaitsForItsNorm) {
  for (const auto type : {DType::f32, DType::bf16}) {
    for (const bool centred : {false, true}) {
      for (const bool again : {false, true}) {
        for (const bool uses_sum : {false, true}) {
          SCOPED_TRACE(std::string(name(type)) + (centred ? ", centred" : "") + (again ? ", again" : "") +
                       (uses_sum ? ", used" : ""));
          fake_device::reset();
          const auto got = SumNorm(kFar, type, centred, again).gradients(uses_sum);
          const std::string kernel = centred ? "layer_norm" : "rms_norm";
          EXPECT_EQ(count_of(kernel + ".forward"), again ? 2 : 1);
          EXPECT_EQ(count_of(kernel + ".backward"), 1);
          EXPECT_EQ(count_of("aten::add"), 1) << "of the squares' gradient, not of the sum or its own";
          const float near = type == DType::f32 ? 5e-6F : 0.05F;
          expect_all_near(got, SumNorm(kHere, type, centred, again).gradients(uses_sum), near);
          const PlainOpsScope plain;
          expect_all_near(got, SumNorm(kFar, type, centred, again).gradients(uses_sum), near);
        }
      }
    }
  }
}

// Asked for before a norm comes, or without one, it is a sum like any other.
TEST(LayerKernels, ASumThatIsAskedForIsComputed) {
  const AxisNames be{"b", "e"};
  Array x = drawn(1, be, {2, 8}, DType::f32, kFar);
  const std::vector<Array*> parameters{&x};
  Array kept;
  fake_device::reset();
  const auto result = value_and_grad(parameters, [&] {
    const Array twice = unary(Unary::negative, {x, be}), more = unary(Unary::square, {x, be});
    kept = binary(Binary::add, {twice, be}, {more, be}, be);
    return reduce(Reduction::sum, {kept, be}, be);
  });
  EXPECT_EQ(count_of("aten::add"), 3) << "the sum; gradients of the square, and of x, which is used twice";
  const auto values = x.to_vector<float>(), sums = kept.to_vector<float>(),
             gradient = result.gradients[0].to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(sums[i], -values[i] + values[i] * values[i]);
    EXPECT_FLOAT_EQ(gradient[i], 2 * values[i] - 1);
  }
}

// Of three parameters: one that is used once, one in two blocks that are computed again, one that is not used.
TEST(LayerKernels, GradientsAreStoredOrAdded) {
  const AxisNames be{"b", "e"};
  for (const Device device : {kFar, kHere}) {
    Array once = drawn(1, be, {2, 8}, DType::f32, device), twice = drawn(2, be, {2, 8}, DType::f32, device),
          unused = drawn(3, be, {2, 8}, DType::f32, device);
    const std::vector<Array*> parameters{&once, &twice, &unused};
    const auto loss = [&] {
      const auto body = [&](std::span<const Array> in) {
        return std::vector<Array>{binary(Binary::multiply, {in[0], be}, {twice, be}, be)};
      };
      const std::vector<Array> in{once};
      const auto between = checkpoint(body, in);
      return reduce(Reduction::sum, {checkpoint(body, between)[0], be}, be);
    };
    const auto want = value_and_grad(parameters, loss);
    const auto into_places_of = [&](float value, bool stores) {
      std::vector<Array> into;
      for (int i = 0; i < 3; ++i) into.push_back(to(full({be, once.sizes()}, value), device));
      EXPECT_EQ(accumulate_gradients(parameters, loss, {into, stores}).item(), want.value.item());
      std::vector<Numbers> out;
      for (const auto& x : into) out.push_back(x.to_vector<float>());
      return out;
    };
    const auto stored = into_places_of(std::numeric_limits<float>::quiet_NaN(), true),
               added = into_places_of(1, false);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto gradient = want.gradients[i].to_vector<float>();
      EXPECT_EQ(stored[i], gradient) << i;
      for (std::size_t k = 0; k < gradient.size(); ++k) EXPECT_NEAR(added[i][k], 1 + gradient[k], 1e-5) << i;
    }
  }
}

// Lists of arrays by one kernel: what each gives alone.
TEST(LayerKernels, ManyArraysAtOnce) {
  const AxisNames a{"a"};
  const auto made = [&](std::uint64_t seed, Device device) {
    std::vector<Array> out;
    for (const std::int64_t n : {5, 1, 300}) out.push_back(drawn(seed++, a, {n}, DType::f32, device));
    return out;
  };
  const auto run = [&](Device device) {
    auto p = made(1, device), m = made(11, device), v = made(21, device);
    const auto g = made(31, device);
    for (auto& x : v) x = unary(Unary::square, {x, a});
    const kernels::AdamW rule{.learning_rate = 1e-2F,
                              .beta1 = 0.9F,
                              .beta2 = 0.95F,
                              .epsilon = 1e-8F,
                              .weight_decay = 5,
                              .correction1 = 0.1F,
                              .correction2 = 0.05F,
                              .gradient_scale = 0.5F};
    std::vector<AdamWArrays> arrays;
    std::vector<Addition> additions;
    for (std::size_t i = 0; i < p.size(); ++i) {
      arrays.push_back({p[i], g[i], m[i], v[i], 0.1F * static_cast<float>(i)});
      additions.push_back({&m[i], &g[i]});
    }
    additions.push_back({&v[0], &g[0], true});
    adamw(rule, arrays);
    add_into(additions);
    Numbers out;
    for (const auto* list : {&p, &m, &v})
      for (const auto& x : *list)
        for (const float value : x.to_vector<float>()) out.push_back(value);
    return out;
  };
  fake_device::reset();
  const auto got = run(kFar);
  EXPECT_EQ(count_of("adamw"), 1);
  EXPECT_EQ(count_of("add_into"), 1);
  EXPECT_EQ(got, run(kHere));
  const auto there = made(1, kFar), here = made(1, kHere);
  EXPECT_FALSE(squares_of_many(here)) << "the CPU's are measured one by one";
  EXPECT_FALSE(squares_of_many({}));
  fake_device::reset();
  const auto squares = squares_of_many(there);
  ASSERT_TRUE(squares);
  EXPECT_EQ(fake_device::counts().kernels, 2);
  const auto largest = squares->largest.to_vector<double>(), numbers = squares->numbers.to_vector<double>();
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(largest[i], max_abs(here[i]).item());
    EXPECT_EQ(std::vector<double>(numbers.begin() + 4 * static_cast<std::ptrdiff_t>(i),
                                  numbers.begin() + 4 * static_cast<std::ptrdiff_t>(i) + 4),
              square_numbers(here[i], max_abs(here[i])).to_vector<double>());
  }
}

// Moments in bf16, of shards too: one launch, and the bits of the CPU.
TEST(LayerKernels, StepsBf16MomentsOfManyArrays) {
  const AxisNames a{"a"};
  const auto run = [&](Device device) {
    std::vector<Array> p, g, m, v;
    std::vector<kernels::Rounding> roundings;
    for (const std::int64_t n : {5, 1, 300}) {
      const auto seed = static_cast<std::uint64_t>(n);
      p.push_back(drawn(seed, a, {n}, DType::f32, device));
      g.push_back(drawn(seed + 1, a, {n}, DType::f32, device));
      m.push_back(drawn(seed + 2, a, {n}, DType::bf16, device));
      v.push_back(unary(Unary::square, {drawn(seed + 3, a, {n}, DType::bf16, device), a}));
      roundings.push_back({seed, 3, {1, {{7, 10, 2}}}});
    }
    std::vector<AdamWArrays> arrays;
    for (std::size_t i = 0; i < p.size(); ++i)
      arrays.push_back({p[i], g[i], m[i], v[i], 0.1F, &roundings[i]});
    adamw({.learning_rate = 1e-2F,
           .beta1 = 0.9F,
           .beta2 = 0.95F,
           .epsilon = 1e-8F,
           .weight_decay = 0,
           .correction1 = 0.1F,
           .correction2 = 0.05F,
           .gradient_scale = 0.5F},
          arrays);
    Numbers out;
    for (const auto* list : {&p, &m, &v})
      for (const auto& x : *list)
        for (const float value : x.to_vector<float>()) out.push_back(value);
    return out;
  };
  fake_device::reset();
  const auto got = run(kFar);
  EXPECT_EQ(count_of("adamw_bf16"), 1);
  EXPECT_EQ(got, run(kHere));
}

}  // namespace
}  // namespace bora::core
