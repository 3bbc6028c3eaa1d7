// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Linear maps in fp8 on a device: against bf16, and what libtorch's product refuses.
#include "bora/core/fp8.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "bora/core/autograd/largest.h"
#include "bora/core/cast_once.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/core/step_ops.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/nn/language_model.h"
#include "bora/optim/adam.h"
#include "bora/train/trainer.h"
#include "fake_device.h"

namespace bora::core {
namespace {

constexpr Device kGpu{Device::Type::test, 0};
using AxisList = std::vector<std::string_view>;
const AxisList kX{"row", "in"}, kW{"out", "in"}, kY{"row", "out"}, kB{"out"};

Array random8(std::uint64_t seed, const AxisList& names, const std::vector<std::int64_t>& sizes) {
  return to(random_normal(Key::from_seed(seed), {names, sizes}), kGpu);
}

std::int64_t times(const std::string& name) {
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}

// The result of maps of one x, and the gradients of x, each weight and each bias.
struct Fp8Maps {
  std::int64_t rows = 32, in = 48;
  std::vector<std::int64_t> outs = {16, 64};
  bool biases = true, remat = false;

  std::vector<std::vector<float>> computed(bool in_fp8) const {
    const DeviceScope there(kGpu);
    const Fp8Scope scope(in_fp8);
    Array x = random8(1, kX, {rows, in});
    std::vector<Array> weights, bias;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      weights.push_back(random8(2 + i, kW, {outs[i], in}));
      bias.push_back(biases ? random8(20 + i, kB, {outs[i]}) : Array());
    }
    std::vector<Array*> arrays{&x};
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      arrays.push_back(&weights[i]);
      parameters.push_back({.axes = kW, .array = &weights[i]});
    }
    for (std::size_t i = 0; biases && i < outs.size(); ++i) {
      arrays.push_back(&bias[i]);
      parameters.push_back({.axes = kB, .role = Role::bias, .array = &bias[i]});
    }
    const CastOnceScope once(parameters);
    std::vector<std::vector<float>> out;
    const auto body = [&](std::span<const Array> inputs) {
      std::vector<Array> narrow, narrow_bias;
      std::vector<LinearMap> maps;
      for (std::size_t i = 0; i < outs.size(); ++i) {
        narrow.push_back(cast({weights[i], kW}, DType::bf16));
        narrow_bias.push_back(biases ? cast({bias[i], kB}, DType::bf16) : Array());
      }
      for (std::size_t i = 0; i < outs.size(); ++i) maps.push_back({{narrow[i], kW}, narrow_bias[i], kY});
      return linears({inputs[0], kX}, maps);
    };
    auto result = value_and_grad(arrays, [&] {
      const std::vector<Array> input{cast({x, kX}, DType::bf16)};
      const auto ys = remat ? checkpoint(body, input) : body(input);
      Array sum;
      for (const auto& y : ys) {
        out.push_back(cast({y, kY}, DType::f32).to_vector<float>());
        const Array wide = cast({y, kY}, DType::f32);
        const Array squares = reduce(Reduction::sum, {unary(Unary::square, {wide, kY}), kY}, kY);
        sum = sum.empty() ? squares : binary(Binary::add, {sum, {}}, {squares, {}}, {});
      }
      return sum;
    });
    for (const auto& g : result.gradients) {
      EXPECT_EQ(g.dtype(), DType::f32);
      out.push_back(g.to_vector<float>());
    }
    return out;
  }
};

// Of each array, how far it is off in the mean square.
void expect_near_bf16(const std::vector<std::vector<float>>& got,
                      const std::vector<std::vector<float>>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size());
    double apart = 0, all = 0;
    for (std::size_t k = 0; k < got[i].size(); ++k) {
      apart += std::pow(static_cast<double>(got[i][k] - want[i][k]), 2);
      all += std::pow(static_cast<double>(want[i][k]), 2);
    }
    EXPECT_GT(apart, 0) << i;
    EXPECT_LT(std::sqrt(apart / all), 0.08)
        << i;  // of e5m2's two bits of a mantissa: a step is an eighth to a quarter
  }
}

TEST(Fp8, MapsOfOneInputAreOneProduct) {
  for (const bool biases : {false, true}) {
    const Fp8Maps maps{.biases = biases};
    fake_device::reset();
    const auto want = maps.computed(false);
    EXPECT_EQ(times("aten::_scaled_mm"), 0);
    fake_device::reset();
    const auto got = maps.computed(true);
    EXPECT_EQ(times("aten::_scaled_mm"), 3) << "forward, and the gradients of x and of all weights";
    EXPECT_EQ(times("narrow8.quantize"), 3)
        << "x, weights and the gradient, each as it lies and turned by one kernel";
    EXPECT_EQ(times("narrow8.max_abs"), 2) << "those of weights come with their copies";
    EXPECT_EQ(times("narrow8.of_another_largest"), 0);
    EXPECT_EQ(times("aten::mm") + times("aten::addmm"), 0);
    expect_near_bf16(got, want);
    EXPECT_EQ(maps.computed(true), got) << "the same bits again";
  }
}

TEST(Fp8, OneMapAlone) {
  const Fp8Maps maps{.outs = {64}};
  fake_device::reset();
  const auto got = maps.computed(true);
  EXPECT_EQ(times("aten::_scaled_mm"), 3);
  expect_near_bf16(got, maps.computed(false));
}

TEST(Fp8, ComputedAgainHasTheSameBits) {
  EXPECT_EQ(Fp8Maps({.remat = true}).computed(true), Fp8Maps({.remat = false}).computed(true));
}

// One size that is no multiple of 16: all three products stay bf16, and so do products that are no maps.
TEST(Fp8, WhatStaysInBf16) {
  for (const auto& maps : {Fp8Maps{.rows = 24}, Fp8Maps{.in = 40}, Fp8Maps{.outs = {20}}}) {
    fake_device::reset();
    const auto got = maps.computed(true);
    EXPECT_EQ(times("aten::_scaled_mm"), 0);
    EXPECT_EQ(got, maps.computed(false));
  }
  const DeviceScope there(kGpu);
  const Array a = cast({random8(1, kX, {32, 32}), kX}, DType::bf16),
              b = cast({random8(2, kW, {32, 32}), kW}, DType::bf16);
  fake_device::reset();
  const Fp8Scope scope;
  (void)dot({a, kX}, {b, kW}, kY);
  {
    const Fp8Scope not_here(false);
    EXPECT_FALSE(in_fp8());
    (void)linear({a, kX}, {b, kW}, {}, kY);
  }
  (void)linear({cast({a, kX}, DType::f32), kX}, {cast({b, kW}, DType::f32), kW}, {}, kY);
  EXPECT_EQ(times("aten::_scaled_mm"), 0);
  EXPECT_TRUE(in_fp8());
  (void)linear({a, kX}, {b, kW}, {}, kY);
  EXPECT_EQ(times("aten::_scaled_mm"), 1);
}

// A number that a kernel gives with an array is of that array as it is now, and of no other one.
TEST(Fp8, WhatIsKnownOfAnArray) {
  using autograd::known_largest;
  using autograd::largest_beside;
  const auto bf16_there = [] {
    return at::ones({32, 48}, at::kFloat).to(at::kBFloat16).to(c10::Device(c10::DeviceType::PrivateUse1, 0));
  };
  const at::Tensor outside = bf16_there();
  {
    const Fp8Scope scope;
    EXPECT_EQ(largest_beside(outside), nullptr) << "outside of a pass";
    const autograd::LargestScope pass;
    const at::Tensor y = bf16_there(), other = bf16_there();
    EXPECT_FALSE(known_largest(y).defined());
    float* const place = largest_beside(y);
    ASSERT_NE(place, nullptr);
    const auto is_known = [&](const at::Tensor& x) {
      const auto largest = known_largest(x);
      return largest.defined() && largest.const_data_ptr<float>() == place;
    };
    EXPECT_TRUE(is_known(y));
    EXPECT_TRUE(is_known(y.view({3, 16, 32}))) << "the same elements";
    EXPECT_TRUE(is_known(y.detach()));
    EXPECT_FALSE(is_known(y.narrow(0, 0, 16))) << "a part";
    EXPECT_FALSE(is_known(y.t())) << "in other places";
    EXPECT_FALSE(is_known(other));
    EXPECT_FALSE(is_known(y.clone()));
    y.view({-1}).add_(1);
    EXPECT_FALSE(is_known(y)) << "it was written to, through a view";
    EXPECT_NE(largest_beside(other), place);
    EXPECT_EQ(largest_beside(other.to(at::kFloat)), nullptr) << "no array for fp8";
    std::vector<const float*> places;
    for (int i = 0; i < 100;
         ++i) {  // more than one launch clears; of arrays that go, whose memory comes again
      const at::Tensor more = bf16_there();
      EXPECT_FALSE(known_largest(more).defined());
      places.push_back(largest_beside(more));
    }
    std::ranges::sort(places);
    EXPECT_TRUE(std::ranges::adjacent_find(places) == places.end());
    const Fp8Scope not_here(false);
    EXPECT_EQ(largest_beside(bf16_there()), nullptr);
  }
  EXPECT_FALSE(known_largest(outside).defined());
}

// Three steps of AdamW on maps of one input, of which the second is not trained. `known`: the largest elements of weights
// come with their copies; else each product asks for them.
std::vector<std::vector<float>> stepped_in_fp8(bool known, bool bf16_moments) {
  const DeviceScope there(kGpu);
  const std::vector<std::int64_t> outs{16, 64, 32};
  Array x = random8(1, kX, {32, 48});
  std::vector<Array> weights, means, squares;
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    weights.push_back(random8(2 + i, kW, {outs[i], 48}));
    means.push_back(
        cast({to(zeros({kW, weights[i].sizes()}), kGpu), kW}, bf16_moments ? DType::bf16 : DType::f32));
    squares.push_back(means[i].clone());
  }
  for (auto& w : weights) parameters.push_back({.axes = kW, .array = &w});
  std::vector<Array*> trained{&weights[0], &weights[2]};
  const kernels::Rounding rounding{3, 4, {}};
  const kernels::AdamW rule{0.3F, 0.9F, 0.95F, 1e-8F, 0.1F, 0.3F, 0.2F, 0.5F};
  KeptCopies kept;
  for (int step = 0; step < 3; ++step) {
    fake_device::reset();
    const auto pass = [&] {
      const Array no_bias;
      std::vector<Array> narrow;
      std::vector<LinearMap> maps;
      for (const auto& w : weights) narrow.push_back(cast({w, kW}, DType::bf16));
      for (const auto& w : narrow) maps.push_back({{w, kW}, no_bias, kY});
      Array sum;
      for (const auto& y : linears({cast({x, kX}, DType::bf16), kX}, maps)) {
        const Array wide = cast({y, kY}, DType::f32);
        const Array squared = reduce(Reduction::sum, {unary(Unary::square, {wide, kY}), kY}, kY);
        sum = sum.empty() ? squared : binary(Binary::add, {sum, {}}, {squared, {}}, {});
      }
      return sum;
    };
    std::vector<Array> gradients;
    {
      const CastOnceScope once(parameters, kept);
      if (!known) (void)cast({weights[0], kW}, DType::bf16);
      const Fp8Scope scope;
      gradients = value_and_grad(trained, pass).gradients;
    }
    const CastOnceScope once(parameters, kept);
    std::vector<AdamWArrays> arrays;
    for (const std::size_t i : {0, 2})
      arrays.push_back(
          {weights[i], gradients[i / 2], means[i], squares[i], 0.1F, bf16_moments ? &rounding : nullptr});
    adamw(rule, arrays);
    EXPECT_EQ(times("narrow"), step == 0 ? 1 : 0);
    EXPECT_EQ(times("narrow8.max_abs"), known ? 2 : 3) << "of x and of its gradient; and of the weights";
    EXPECT_EQ(times("narrow8.of_another_largest"), 0) << "step " << step;
  }
  std::vector<std::vector<float>> out;
  for (const auto& w : weights) out.push_back(w.to_vector<float>());
  return out;
}
TEST(Fp8, TheLargestOfWeightsComesWithTheirCopies) {
  for (const bool bf16_moments : {false, true}) {
    const auto want = stepped_in_fp8(false, bf16_moments);
    EXPECT_EQ(stepped_in_fp8(true, bf16_moments), want);
    EXPECT_NE(want[0], random8(2, kW, {16, 48}).to_vector<float>()) << "it was trained";
  }
}

// A weight whose values somebody else has changed, and one that shares no copy.
TEST(Fp8, TheLargestOfAWeightThatHasChanged) {
  const DeviceScope there(kGpu);
  Array w = random8(2, kW, {64, 48});
  const Array x = cast({random8(1, kX, {32, 48}), kX}, DType::bf16), other = random8(3, kW, {64, 48});
  const std::vector<Parameter> parameters{{.axes = kW, .array = &w}};
  const CastOnceScope once(parameters);
  const Fp8Scope scope;
  const auto map = [&](const Array& weight) {
    fake_device::reset();
    auto y = cast({linear({x, kX}, {cast({weight, kW}, DType::bf16), kW}, {}, kY), kY}, DType::f32);
    EXPECT_EQ(times("narrow8.of_another_largest"), 0);
    return y.to_vector<float>();
  };
  const auto first = map(w);
  EXPECT_EQ(times("narrow8.max_abs"), 1) << "of x";
  add_scaled(w, 15, w);
  const auto later = map(w);
  EXPECT_EQ(times("narrow"), 1);
  EXPECT_EQ(times("narrow8.max_abs"), 1);
  for (std::size_t i = 0; i < first.size(); ++i) ASSERT_EQ(later[i], 16 * first[i]);
  (void)map(other);
  EXPECT_EQ(times("narrow8.max_abs"), 2) << "of x, and of a weight that is no parameter";
}

// What is not finite is not lost in a clamp.
TEST(Fp8, NanStaysNan) {
  const DeviceScope there(kGpu);
  std::vector<float> values(32 * 32, 1.0F);
  values[77] = INFINITY;
  const std::vector<std::int64_t> sizes{32, 32};
  const Array a = cast({to(from_data({kX, sizes}, std::span<const float>(values)), kGpu), kX}, DType::bf16),
              b = cast({random8(2, kW, {32, 32}), kW}, DType::bf16);
  const Fp8Scope scope;
  const auto y = cast({linear({a, kX}, {b, kW}, {}, kY), kY}, DType::f32).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Fp8, TheProductOfTheTestsRefusesWhatTheRealOneDoes) {
  const auto device = c10::Device(c10::DeviceType::PrivateUse1, 0);
  const auto of = [&](at::IntArrayRef sizes, at::ScalarType type) {
    return at::ones(sizes, at::kFloat).to(type).to(device);
  };
  const at::Tensor a = of({16, 32}, at::kFloat8_e4m3fn), b = of({48, 32}, at::kFloat8_e4m3fn).t(),
                   g = of({16, 32}, at::kFloat8_e5m2), one = of({1}, at::kFloat),
                   bias = of({48}, at::kBFloat16);
  const auto refused = [&](const at::Tensor& left, const at::Tensor& right, const at::Tensor& scale,
                           const std::optional<at::Tensor>& with, at::ScalarType type) -> std::string {
    try {
      (void)at::_scaled_mm(left, right, scale, scale, with, {}, type, false);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "taken";
  };
  using ::testing::HasSubstr;
  const auto kBf16 = at::kBFloat16;
  EXPECT_EQ(refused(a, b, one, bias, kBf16), "taken");
  EXPECT_EQ(refused(g, b, one, {}, at::kFloat), "taken");
  EXPECT_THAT(refused(g, of({48, 32}, at::kFloat8_e5m2).t(), one, {}, kBf16), HasSubstr("two Float8_e5m2"));
  EXPECT_THAT(refused(a, of({32, 48}, at::kFloat8_e4m3fn), one, {}, kBf16),
              HasSubstr("mat2 must be col_major"));
  EXPECT_THAT(refused(of({32, 16}, at::kFloat8_e4m3fn).t(), b, one, {}, kBf16),
              HasSubstr("mat1 must be row_major"));
  EXPECT_THAT(refused(of({16, 24}, at::kFloat8_e4m3fn), of({48, 24}, at::kFloat8_e4m3fn).t(), one, {}, kBf16),
              HasSubstr("divisible by 16"));
  EXPECT_THAT(refused(a, of({20, 32}, at::kFloat8_e4m3fn).t(), one, {}, kBf16), HasSubstr("divisible by 16"));
  EXPECT_THAT(refused(a, b, of({1}, at::kDouble), {}, kBf16), HasSubstr("a scale is one number of fp32"));
  EXPECT_THAT(refused(a, b, of({16}, at::kFloat), {}, kBf16), HasSubstr("a scale is one number of fp32"));
  EXPECT_THAT(refused(a, b, one, bias, at::kFloat), HasSubstr("bias is not supported"));
  EXPECT_THAT(refused(a.to(kBf16), b, one, {}, kBf16), HasSubstr("expected both to be Float8 types"));
}

}  // namespace
}  // namespace bora::core

namespace bora {
namespace {

constexpr std::int64_t kFp8Vocab = 50, kFp8Rows = 4, kFp8Positions = 16, kFp8Steps = 25;

data::Batch fp8_batch(std::int64_t step) {
  data::Batch batch{.step = step, .sequences = kFp8Rows, .seq_len = kFp8Positions};
  for (std::int64_t i = 0; i < kFp8Rows * kFp8Positions; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>((7 * i + step) % kFp8Vocab));
    batch.segments.push_back(0);
    batch.loss_weights.push_back(i % kFp8Positions == kFp8Positions - 1 ? 0.F : 1.F);
  }
  data::set_next_token_targets(batch);
  return batch;
}

struct Fp8Run {
  std::int64_t products = 0;  // in fp8, of the first step
  std::vector<double> losses, norms;
  std::vector<float> parameters;
};

Fp8Run trained_on_a_device(const std::function<std::unique_ptr<nn::LanguageModel>()>& make, bool fp8) {
  const core::DeviceScope there({core::Device::Type::test, 0});
  const auto model = make();
  optim::AdamConfig config;
  config.learning_rate = 1e-2;
  config.warmup = 0;
  optim::Adam optimizer(config, model->parameters());
  train::Trainer trainer(
      {.model = *model,
       .optimizer = optimizer,
       .schedule = optim::Schedule(config, kFp8Steps),
       .skip_step = {},
       .batch_of = fp8_batch,
       .should_stop = {},
       .hooks = {}},
      {.total_steps = kFp8Steps, .lanes = 2, .fp8 = fp8, .loss = {.compute = core::DType::bf16}});
  Fp8Run out;
  for (std::int64_t step = 0; step < kFp8Steps; ++step) {
    fake_device::reset();
    const auto result = trainer.step();
    EXPECT_LE(fake_device::counts().synchronizations, 1) << "step " << step;
    if (step == 0)
      out.products = fake_device::operations_by_name()["aten::_scaled_mm"];  // before there are graphs
    EXPECT_EQ(fake_device::operations_by_name().count("narrow8.of_another_largest"), 0U) << "step " << step;
    out.losses.push_back(result.loss);
    out.norms.push_back(result.gradient_norm);
  }
  for (const auto& p : model->parameters())
    for (const float x : p.array->to_vector<float>()) out.parameters.push_back(x);
  return out;
}

using MakeFp8Model = std::function<std::unique_ptr<nn::LanguageModel>()>;

// The gradient of a batch, by parameter.
std::vector<std::vector<float>> gradients_of(const MakeFp8Model& make, core::DType compute, bool fp8) {
  const core::DeviceScope there({core::Device::Type::test, 0});
  const auto model = make();
  std::vector<core::Array*> arrays;
  for (const auto& p : model->parameters()) arrays.push_back(p.array);
  const auto batch = fp8_batch(1);
  const std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{kFp8Rows, kFp8Positions};
  const core::Shape shape{names, sizes};
  const nn::TokenBatch tokens{core::from_data(shape, std::span<const std::int32_t>(batch.tokens)),
                              core::from_data(shape, std::span<const std::int32_t>(batch.targets)),
                              core::from_data(shape, std::span<const float>(batch.loss_weights)),
                              {}};
  const core::Fp8Scope scope(fp8);
  const auto result = core::value_and_grad(
      arrays, [&] { return model->objective(tokens, std::nullopt, {.compute = compute}).loss; });
  std::vector<std::vector<float>> out;
  for (const auto& g : result.gradients) out.push_back(g.to_vector<float>());
  return out;
}

// Of all parameters together, and of each: how far from those in fp32.
void expect_gradients_near_fp32(const MakeFp8Model& make) {
  const auto want = gradients_of(make, core::DType::f32, false),
             got = gradients_of(make, core::DType::bf16, true);
  double all_apart = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    for (std::size_t k = 0; k < want[i].size(); ++k) {
      all_apart += std::pow(static_cast<double>(got[i][k] - want[i][k]), 2);
      all += std::pow(static_cast<double>(want[i][k]), 2);
    }
  }
  EXPECT_LT(std::sqrt(all_apart / all), 0.08);
  EXPECT_GT(std::sqrt(all_apart / all), 0.005) << "in fp8";
}

// A loss that falls as that of bf16 does, and the same bits again. `products`: in fp8, of a step of two lanes.
void expect_learns_in_fp8(const MakeFp8Model& make, std::int64_t products) {
  const auto wide = trained_on_a_device(make, false), narrow = trained_on_a_device(make, true);
  EXPECT_EQ(narrow.products, products);
  EXPECT_EQ(wide.products, 0);
  EXPECT_LT(wide.losses.back(), wide.losses.front() - 1);
  EXPECT_LT(narrow.losses.back(), narrow.losses.front() - 1);
  for (std::size_t i = 0; i < wide.losses.size(); ++i) {
    EXPECT_NEAR(narrow.losses[i], wide.losses[i], 0.05 * wide.losses[i]) << "step " << i;
  }
  EXPECT_NEAR(narrow.norms[0], wide.norms[0], 0.05 * wide.norms[0]);
  EXPECT_NE(narrow.losses.back(), wide.losses.back());
  const auto again = trained_on_a_device(make, true);
  EXPECT_EQ(again.losses, narrow.losses);
  EXPECT_EQ(again.parameters, narrow.parameters);
}

// Of each layer: the maps to queries, keys and values together, from attention, into the MLP and out of it.
std::unique_ptr<nn::LanguageModel> llama_in_fp8() {
  llama::Config config{
      .seq_len = kFp8Positions, .hidden_dim = 32, .intermediate_dim = 64, .num_layers = 2, .num_heads = 4};
  config.num_kv_heads = 2;
  return nn::erase_type(llama::Llama::init(config, Dim<llama::Vocab>{kFp8Vocab}, Key::from_seed(1)));
}
std::unique_ptr<nn::LanguageModel> gpt2_in_fp8() {
  return nn::erase_type(
      gpt2::Gpt2::init({.seq_len = kFp8Positions, .hidden_dim = 32, .num_layers = 2, .num_heads = 4},
                       Dim<gpt2::Vocab>{kFp8Vocab}, Key::from_seed(1)));
}
TEST(Fp8Training, OfLlama) { expect_learns_in_fp8(llama_in_fp8, 2 * 2 * 4 * 3); }
TEST(Fp8Training, OfGpt2) { expect_learns_in_fp8(gpt2_in_fp8, 2 * 2 * 4 * 3); }
TEST(Fp8Training, GradientsAreNearThoseOfFp32) {
  expect_gradients_near_fp32(llama_in_fp8);
  expect_gradients_near_fp32(gpt2_in_fp8);
}

}  // namespace
}  // namespace bora
