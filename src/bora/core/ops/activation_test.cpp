// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/activation.h"

#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

struct ActivationCase {
  Activation f;
  T (*torch)(const T&);
};
const ActivationCase kCases[] = {
    {Activation::sigmoid, [](const T& x) { return x.neg().exp().add(1).reciprocal(); }},
    {Activation::relu, [](const T& x) { return x.clamp_min(0); }},
    {Activation::silu, [](const T& x) { return x.mul(x.sigmoid()); }},
    {Activation::gelu, [](const T& x) { return x.mul(x.mul(0.70710678118654752).erf().add(1)).mul(0.5); }},
    {Activation::gelu_tanh,
     [](const T& x) {
       const T inner = x.add(x.pow(3).mul(0.044715)).mul(0.79788456080286536);
       return x.mul(inner.tanh().add(1)).mul(0.5);
     }},
    {Activation::quick_gelu, [](const T& x) { return x.mul(1.702).sigmoid().mul(x); }},
    {Activation::tanh, [](const T& x) { return x.tanh(); }},
};

TEST(ActivationOps, EqualTorch) {
  for (const auto& [f, torch] : kCases) {
    SCOPED_TRACE(name(f));
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [f = f](auto in) { return Result{activate(f, in[0]), {in[0].names.begin(), in[0].names.end()}}; },
        [torch = torch](const auto& in) { return torch(in[0]); });
  }
}

TEST(ActivationOps, GatesEqualTorch) {
  for (const auto& [f, torch] : kCases) {
    SCOPED_TRACE(name(f));
    expect_same(
        {{values({2, 3, 4}), kAbc}, {values({2, 3, 4}, 1), kAbc}}, kAbc,
        [f = f](auto in) { return Result{gated(f, in[0], in[1]), {in[0].names.begin(), in[0].names.end()}}; },
        [torch = torch](const auto& in) { return torch(in[0]).mul(in[1]); });
  }
}

TEST(ActivationOps, ElementTypes) {
  const Array whole = wrap(integers({3}, 5));
  const NameList n{"n"};
  EXPECT_EQ(activate(Activation::relu, {whole, n}).dtype(), DType::i64);
  EXPECT_EQ(error_of([&] { activate(Activation::gelu, {whole, n}); }),
            "gelu: needs floating-point elements, [n=3] holds i64\nhint: cast it to f32 first");
}

}  // namespace
}  // namespace bora::core
