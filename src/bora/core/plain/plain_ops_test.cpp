// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every kernel against libtorch's own ops, forward and backward, in fp32 and bf16, over a table of shapes.
#include "bora/core/plain_ops.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include <set>

#include "bora/core/activation.h"
#include "bora/core/attention.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/grouped.h"
#include "bora/core/index.h"
#include "bora/core/norm.h"
#include "bora/core/reduce.h"
#include "bora/core/rope.h"
#include "bora/core/routing.h"
#include "bora/core/rows_apart.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using In = std::span<const Operand>;

struct Input {
  NameList names;
  Dims sizes;
  std::int64_t below = 0;  // > 0: whole numbers less than this
};

struct KernelCase {
  std::string name;
  std::vector<Input> inputs;
  std::function<Result(In)> op;
};

struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;
  std::set<std::string> recorded;  // names of what the backward pass goes through
};

void collect(const std::shared_ptr<torch::autograd::Node>& node, std::set<std::string>& names) {
  if (!node) return;
  names.insert(node->name());
  for (const auto& edge : node->next_edges()) collect(edge.function, names);
}

Outcome run(const KernelCase& c, DType dtype) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const auto& [names, sizes, below] = c.inputs[i];
    arrays.push_back(wrap(below > 0 ? integers(sizes, below, double(i)).to(at::kInt)
                                    : values(sizes, double(i)).to(scalar_type(dtype))));
  }
  std::vector<Array*> parameters;
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    operands.push_back({arrays[i], c.inputs[i].names});
    if (c.inputs[i].below == 0) parameters.push_back(&arrays[i]);
  }
  Outcome out;
  const auto result = value_and_grad(parameters, [&] {
    const Result y = c.op(operands);
    out.value = tensor(y.array).detach();
    collect(tensor(y.array).grad_fn(), out.recorded);
    const Array wide = cast({y.array, y.names}, DType::f32);
    const Array weights = wrap(values(out.value.sizes(), 17));
    const Array product = binary(Binary::multiply, {wide, y.names}, {weights, y.names}, y.names);
    return reduce(Reduction::sum, {product, y.names}, y.names);
  });
  for (const Array& g : result.gradients) out.gradients.push_back(tensor(g));
  return out;
}

double worst(const Tensor& got, const Tensor& want) {
  if (got.numel() == 0) return 0;
  const Tensor a = got.to(at::kDouble), b = want.to(at::kDouble);
  return a.sub(b).abs().max().item().toDouble() / std::max(1.0, b.abs().max().item().toDouble());
}

Result same(const Operand& x, Array y) { return {std::move(y), NameList(x.names.begin(), x.names.end())}; }

void add_pointwise(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const Input x{{"b", "t", "e"}, {b, t, e}};
  for (const auto f : {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::quick_gelu,
                       Activation::relu, Activation::sigmoid, Activation::tanh}) {
    out.push_back({std::string(name(f)), {x}, [f](In in) { return same(in[0], activate(f, in[0])); }});
    if (f == Activation::tanh || f == Activation::relu) continue;
    out.push_back({"gated " + std::string(name(f)), {x, {{"e", "b", "t"}, {e, b, t}}}, [f](In in) {
                     return same(in[0], gated(f, in[0], in[1]));
                   }});
  }
  for (const double power : {2.0, 3.0}) {
    out.push_back(
        {"power", {x}, [power](In in) { return same(in[0], binary(Binary::power, in[0], power)); }});
  }
  out.push_back({"power of arrays", {x, x}, [](In in) {
                   const Array base = binary(Binary::add, in[0], 3.0);
                   return same(in[0], binary(Binary::power, {base, in[0].names}, in[1], in[0].names));
                 }});
  out.push_back({"cast", {x}, [](In in) { return same(in[0], cast(in[0], DType::bf16)); }});
  out.push_back({"dropout", {x}, [](In in) { return same(in[0], dropout(in[0], 0.3, Key::from_seed(5))); }});
}

void add_norms(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const Input x{{"b", "e", "t"}, {b, e, t}}, weight{{"e"}, {e}}, both{{"t", "e"}, {t, e}};
  const NameList over{"e"}, two{"t", "e"};
  out.push_back({"rms_norm", {x}, [over](In in) { return same(in[0], rms_norm(in[0], {}, over, 1e-3)); }});
  out.push_back({"rms_norm with a weight", {x, weight}, [over](In in) {
                   return same(in[0], rms_norm(in[0], in[1].array, over, 1e-3));
                 }});
  out.push_back({"rms_norm over two axes", {x, both}, [two](In in) {
                   return same(in[0], rms_norm(in[0], in[1].array, two, 1e-3));
                 }});
  out.push_back(
      {"layer_norm", {x}, [over](In in) { return same(in[0], layer_norm(in[0], {}, {}, over, 1e-3)); }});
  out.push_back({"layer_norm with weight and bias", {x, weight, weight}, [over](In in) {
                   return same(in[0], layer_norm(in[0], in[1].array, in[2].array, over, 1e-3));
                 }});
}

void add_reductions(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const Input x{{"b", "t", "e"}, {b, t, e}};
  for (const NameList& over : {NameList{"t"}, NameList{"b", "e"}, NameList{"b", "t", "e"}}) {
    for (const auto op : {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::var,
                          Reduction::logsumexp}) {
      out.push_back({std::string(name(op)) + describe(over), {x}, [op, over](In in) {
                       return Result{reduce(op, in[0], over), without(in[0].names, over)};
                     }});
    }
    out.push_back(
        {"softmax" + describe(over), {x}, [over](In in) { return same(in[0], softmax(in[0], over)); }});
    out.push_back({"log_softmax" + describe(over), {x}, [over](In in) {
                     return same(in[0], log_softmax(in[0], over));
                   }});
  }
  out.push_back({"cumsum", {x}, [](In in) { return same(in[0], cumsum(in[0], "t")); }});
  out.push_back({"sort", {x}, [](In in) { return same(in[0], sort(in[0], "t").first); }});
  out.push_back({"top_k", {x}, [](In in) { return same(in[0], top_k(in[0], "e", 1).first); }});
}

void add_products(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const NameList bto{"b", "t", "o"};
  const Input x{{"b", "t", "e"}, {b, t, e}}, weight{{"o", "e"}, {7, e}}, bias{{"o"}, {7}};
  out.push_back({"dot", {x, weight}, [bto](In in) { return Result{dot(in[0], in[1], bto), bto}; }});
  out.push_back({"dot transposed", {x, {{"e", "o"}, {e, 7}}}, [bto](In in) {
                   return Result{dot(in[0], in[1], bto), bto};
                 }});
  out.push_back({"dot in batches", {x, {{"b", "e", "o"}, {b, e, 7}}}, [bto](In in) {
                   return Result{dot(in[0], in[1], bto), bto};
                 }});
  out.push_back({"linear", {x, weight, bias}, [bto](In in) {
                   return Result{linear(in[0], in[1], in[2].array, bto), bto};
                 }});
  const NameList bt{"b", "t"};
  const Input targets{{"b", "t"}, {b, t}, 7};
  for (const bool options : {false, true}) {
    out.push_back(
        {options ? "linear_cross_entropy with head options" : "linear_cross_entropy",
         {x, weight, targets, bias},
         [b, t, options](In in) {
           // every third counts nothing, and has no target
           std::vector<float> w;
           std::vector<std::int32_t> chosen = in[2].array.to_vector<std::int32_t>();
           for (std::size_t i = 0; i < chosen.size(); ++i) {
             w.push_back(i % 3 == 1 ? 0.0F : 0.5F);
             if (i % 3 == 1) chosen[i] = -1;
           }
           const Dims sizes{b, t};
           const Shape shape{in[2].names, sizes};
           const Array weights = from_data(shape, std::span<const float>(w));
           const Array ids = from_data(shape, std::span<const std::int32_t>(chosen));
           CrossEntropyOptions rule{.z_loss = 1e-2, .chunk = 3};
           if (options) rule.head = {.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array};
           return Result{
               linear_cross_entropy(in[0], in[1], {ids, in[2].names}, {weights, in[2].names}, rule).loss, {}};
         }});
  }
  out.push_back({"cross_entropy", {{{"b", "v", "t"}, {b, 7, t}}, targets}, [bt](In in) {
                   return Result{cross_entropy(in[0], "v", in[1]), bt};
                 }});
}

void add_lookups(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const NameList bte{"b", "t", "e"}, bt{"b", "t"};
  const Input ids{{"b", "t"}, {b, t}, 6};
  out.push_back({"take rows", {{{"v", "e"}, {6, e}}, ids}, [bte](In in) {
                   return Result{take(in[0], "v", in[1], bte), bte};
                 }});
  out.push_back({"take elements", {{{"b", "t", "v"}, {b, t, 6}}, ids}, [bt](In in) {
                   return Result{take(in[0], "v", in[1], bt), bt};
                 }});
  out.push_back({"scatter_add", {{{"v", "e"}, {6, e}}, ids, {{"b", "t", "e"}, {b, t, e}}}, [](In in) {
                   return same(in[0], scatter_add(in[0], "v", in[1], in[2]));
                 }});
}

void add_experts(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const NameList bt{"b", "t"}, btk{"b", "t", "k"}, bte{"b", "t", "e"}, se{"s", "e"}, so{"s", "o"},
      bto{"b", "t", "o"};
  const Input choices{{"b", "t", "k"}, {b, t, 2}, 4};
  out.push_back({"dispatch", {{bte, {b, t, e}}, choices}, [=](In in) {
                   return Result{dispatch(in[0], route(in[1], 4), bt, se), se};
                 }});
  out.push_back({"combine", {{se, {2 * b * t, e}}, {btk, {b, t, 2}}, choices}, [=](In in) {
                   return Result{combine(in[0], in[1], route(in[2], 4), bte), bte};
                 }});
  const Input x{se, {2 * b * t, e}}, weight{{"x", "o", "e"}, {4, 7, e}}, bias{{"x", "o"}, {4, 7}};
  out.push_back({"grouped_linear", {x, weight, choices}, [=](In in) {
                   return Result{grouped_linear(in[0], route(in[2], 4).rows, in[1], {}, so), so};
                 }});
  out.push_back({"grouped_linear with a bias", {x, weight, choices, bias}, [=](In in) {
                   return Result{grouped_linear(in[0], route(in[2], 4).rows, in[1], in[3].array, so), so};
                 }});
}

struct Mask {
  std::string name;
  AttentionRule rule;
  bool segments = false, slopes = false, sinks = false;
};

void add_attention(std::vector<KernelCase>& out, std::int64_t b, std::int64_t t, std::int64_t e) {
  const std::int64_t d = 2 * e;
  const Input q{{"b", "t", "kv", "group", "d"}, {b, t, 2, 3, d}}, k{{"b", "s", "kv", "d"}, {b, t, 2, d}};
  const Input longer{{"b", "s", "kv", "d"}, {b, t + 3, 2, d}};
  const std::vector<Mask> masks{
      {"causal", {}},
      {"all", {.causal = false}},
      {"window", {.window = 2}},
      {"window of the past only", {.offset = 3, .window = 2}},
      {"soft cap", {.soft_cap = 0.7}},
      {"scale", {.scale = 0.3, .causal = false}},
      {"segments", {}, true},
      {"slopes", {.soft_cap = 0.7}, false, true},
      {"sinks", {}, false, false, true},
      {"sinks beside a window of the past", {.offset = 3, .window = 2}, false, false, true},
      {"sinks beside all keys", {.causal = false}, false, true, true}};
  for (const Mask& mask : masks) {
    const bool past = mask.rule.offset > 0;
    std::vector<Input> inputs{q, past ? longer : k, past ? longer : k};
    if (mask.sinks) inputs.push_back({{"group", "kv"}, {3, 2}});
    out.push_back({"attention, " + mask.name, inputs, [mask, b, t](In in) {
                     AttentionRule rule = mask.rule;
                     if (mask.segments) {
                       rule.query_segments = wrap(integers({b, t}, 2, 3).cumsum(1).to(at::kInt));
                       rule.key_segments = rule.query_segments;
                       rule.segment_names = {"b", "t"};
                     }
                     if (mask.slopes) {
                       rule.slopes = wrap(values({2, 3}, 5));
                       rule.slope_names = {"kv", "group"};
                     }
                     if (mask.sinks) {
                       rule.sinks = in[3].array;
                       rule.sink_names = {"group", "kv"};
                     }
                     return same(in[0], attention(in[0], in[1], in[2], {"t", "s", "d"}, rule));
                   }});
  }
  for (const std::int64_t half : {d / 2, d / 4}) {
    if (half == 0) continue;
    const Array angles = wrap(values({t + 1, half}, 4));
    const Array cos = wrap(tensor(angles).cos()), sin = wrap(tensor(angles).sin());
    for (const auto pairs : {RopePairs::halves, RopePairs::neighbours})
      out.push_back(
          {"rope", {q}, [=](In in) { return same(in[0], rope(in[0], "t", "d", cos, sin, pairs)); }});
  }
}

std::vector<KernelCase> cases(std::int64_t b, std::int64_t t, std::int64_t e) {
  std::vector<KernelCase> out;
  for (const auto add :
       {add_pointwise, add_norms, add_reductions, add_products, add_lookups, add_experts, add_attention})
    add(out, b, t, e);
  return out;
}

bool has_own(const std::set<std::string>& recorded) {
  return std::any_of(recorded.begin(), recorded.end(),
                     [](const std::string& name) { return name.find("CppNode") != std::string::npos; });
}

struct Sizes {
  std::int64_t b, t, e;
};

class PlainOps : public ::testing::TestWithParam<Sizes> {};

TEST_P(PlainOps, AreTheOracleOfTheKernels) {
  const auto [b, t, e] = GetParam();
  int own = 0;
  for (const KernelCase& c : cases(b, t, e)) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string what = c.name + " of " + std::string(name(dtype));
      const Outcome got = run(c, dtype);
      const PlainOpsScope plain;
      const Outcome want = run(c, dtype);
      own += has_own(got.recorded) ? 1 : 0;
      EXPECT_FALSE(has_own(want.recorded)) << what << ": the plain path goes through a function of ours";
      // both compute in fp32 and round once; products are rounded by libtorch as it goes
      const double tolerance = dtype == DType::f32 ? 5e-6 : 1.6e-2;
      ASSERT_EQ(got.value.sizes(), want.value.sizes()) << what;
      EXPECT_EQ(got.value.scalar_type(), want.value.scalar_type()) << what;
      EXPECT_LE(worst(got.value, want.value), tolerance) << what;
      for (std::size_t i = 0; i < want.gradients.size(); ++i) {
        EXPECT_EQ(got.gradients[i].scalar_type(), want.gradients[i].scalar_type()) << what;
        EXPECT_LE(worst(got.gradients[i], want.gradients[i]), tolerance) << what << ", gradient " << i;
      }
    }
  }
  EXPECT_GE(own, 80) << "so many of the cases have backward passes of ours otherwise";
}

INSTANTIATE_TEST_SUITE_P(Shapes, PlainOps,
                         ::testing::Values(Sizes{1, 1, 2}, Sizes{2, 5, 8}, Sizes{3, 33, 20}));

// Of rows that are computed apart: the kernel of few positions a row, and of one more than it takes.
TEST(PlainOps, OfFewRows) {
  const NameList in{"b", "t", "e"}, weight{"o", "e"}, out{"b", "t", "o"};
  for (const std::int64_t rows : {1, 3}) {
    for (const std::int64_t positions : {1, 2, 16, 17}) {
      const Array x = wrap(values({rows, positions, 75}, 1)), w = wrap(values({130, 75}, 2));
      const auto product = [&] {
        const RowsApart apart(rows);
        return tensor(dot({x, in}, {w, weight}, out));
      };
      const Tensor kernel = product();
      const PlainOpsScope scope;
      EXPECT_LE(worst(kernel, product()), 2e-6) << rows << " rows of " << positions;
    }
  }
}

TEST(PlainOpsScope, HoldsWhenABlockIsComputedAgain) {
  Array x = wrap(values({4}));
  const std::vector<Array*> parameters{&x};
  const NameList names{"a"};
  std::vector<bool> plain;
  value_and_grad(parameters, [&] {
    const PlainOpsScope here;
    return checkpoint(
        [&](std::span<const Array> in) {
          plain.push_back(plain_ops());
          return std::vector<Array>{reduce(Reduction::sum, {in[0], names}, names)};
        },
        {&x, 1})[0];
  });
  EXPECT_EQ(plain, (std::vector<bool>{true, true})) << "forward, and when the scope has ended";
  EXPECT_FALSE(plain_ops());
}

TEST(PlainOpsScope, Nests) {
  const PlainOpsScope outer;
  {
    const PlainOpsScope inner(false);
    EXPECT_FALSE(plain_ops());
  }
  EXPECT_TRUE(plain_ops());
}

}  // namespace
}  // namespace bora::core
