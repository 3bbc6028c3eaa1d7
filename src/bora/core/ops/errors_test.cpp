// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every message a wrong call can get from the dynamic ops: name, both sides with axes and sizes, hint.
#include "bora/core/array.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/index.h"
#include "bora/core/mapping.h"
#include "bora/core/reduce.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;

// An array and its names.
struct Arg {
  Arg(NameList n, Dims sizes, DType dtype = DType::f32)
      : names(std::move(n)), array(wrap(values(sizes).to(scalar_type(dtype)))) {}
  Arg(NameList n, Array a) : names(std::move(n)), array(std::move(a)) {}
  operator Operand() const { return {array, names}; }
  NameList names;
  Array array;
};

#define EXPECT_ERROR(call, message) EXPECT_EQ(error_of([&] { call; }), message)  // of this file alone

const NameList kHiddenAxes{"batch", "position", "embed"};
const Arg kHidden({"batch", "position", "embed"}, {2, 3, 512});
const Arg kWeights({"mlp", "embed"}, {8, 768});
const Arg kSmall({"batch", "head_dim"}, {2, 64});
const Arg kWhole({"position"}, {3}, DType::i64);
const Arg kTruth({"position"}, {3}, DType::boolean);

TEST(Errors, AreInvalidArguments) {
  try {
    softmax(kSmall, NameList{"nothing"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(e.what(), "softmax: no axis nothing in [batch=2, head_dim=64]");
  }
}

TEST(Errors, OneNameTwoSizes) {
  EXPECT_ERROR(binary(Binary::add, kHidden, kWeights, kHiddenAxes),
               "add: axis embed is 512 in [batch=2, position=3, embed=512] but 768 in [mlp=8, embed=768]\n"
               "hint: one name has one size; rename one of the two axes if they are different things");
  EXPECT_ERROR(binary(Binary::add, kHidden, Arg({"embed"}, {1}), kHiddenAxes),
               "add: axis embed is 512 in [batch=2, position=3, embed=512] but 1 in [embed=1]\n"
               "hint: size 1 is not stretched; drop the axis and it is repeated by name");
}

TEST(Errors, UnknownAxes) {
  EXPECT_ERROR(softmax(kSmall, NameList{"head_dmi"}),
               "softmax: no axis head_dmi in [batch=2, head_dim=64]; did you mean head_dim?");
  EXPECT_ERROR(reduce(Reduction::mean, kSmall, NameList{"vocab"}),
               "mean: no axis vocab in [batch=2, head_dim=64]");
  const Space space("dot", {kSmall});
  EXPECT_ERROR(space.size("bacth"), "dot: no axis bacth in [batch=2, head_dim=64]; did you mean batch?");
  EXPECT_ERROR(slice(kSmall, "heads_dim", 0, 1),
               "slice: no axis heads_dim in [batch=2, head_dim=64]; did you mean head_dim?");
}

TEST(Errors, Operands) {
  EXPECT_ERROR(unary(Unary::exp, Arg({"a", "b"}, Array())),
               "exp: the operand [a, b] is empty (it was never given a value)");
  EXPECT_ERROR(unary(Unary::exp, Arg({"a"}, wrap(values({2, 3})))),
               "exp: 1 axes are named for an array of 2 dimensions: [a=2, ?=3]");
  EXPECT_ERROR(unary(Unary::exp, Arg({"a", "a"}, {2, 2})),
               "exp: axis a appears twice in [a=2, a=2]\nhint: rename one of them");
}

TEST(Errors, ElementTypes) {
  EXPECT_ERROR(unary(Unary::exp, kWhole),
               "exp: needs floating-point elements, [position=3] holds i64\nhint: cast it to f32 first");
  EXPECT_ERROR(softmax(kWhole, kWhole.names),
               "softmax: needs floating-point elements, [position=3] holds i64\nhint: cast it to f32 first");
  EXPECT_ERROR(reduce(Reduction::mean, kWhole, kWhole.names),
               "mean: needs floating-point elements, [position=3] holds i64\nhint: cast it to f32 first");
  EXPECT_ERROR(binary(Binary::divide, kWhole, 2),
               "divide: [position=3] holds i64\nhint: floor_divide, or cast to f32 first");
  EXPECT_ERROR(binary(Binary::add, kTruth, kTruth, kTruth.names),
               "add: needs numbers, [position=3] holds bool\nhint: cast it first, or use logical_and/or");
  EXPECT_ERROR(unary(Unary::logical_not, kWhole),
               "logical_not: needs bool elements, [position=3] holds i64\nhint: compare it with 0 first");
  EXPECT_ERROR(binary(Binary::add, kHidden, Arg({"embed"}, {512}, DType::bf16), kHiddenAxes),
               "add: [batch=2, position=3, embed=512] holds f32 but [embed=512] holds bf16\n"
               "hint: cast one of them; element types are never mixed silently");
  EXPECT_ERROR(
      binary(Binary::multiply, kWhole, 0.5),
      "multiply: 0.5 is not a whole number, [position=3] holds i64\nhint: cast the array to f32 first");
  EXPECT_ERROR(where(kTruth, kWhole, 0.5, kWhole.names),
               "where: 0.5 is not a whole number, [position=3] holds i64\nhint: cast the array to f32 first");
  EXPECT_ERROR(where(kWhole, kWhole, kWhole, kWhole.names),
               "where: needs bool elements, [position=3] holds i64\nhint: compare it with 0 first");
}

TEST(Errors, AxesOfBinaryResults) {
  EXPECT_ERROR(
      binary(Binary::add, kSmall, Arg({"batch", "mlp"}, {2, 8}), kHiddenAxes),
      "add: neither operand's axes lie within the other's: [batch=2, head_dim=64] and [batch=2, mlp=8]\n"
      "hint: broadcast one of them first");
  EXPECT_ERROR(binary(Binary::add, kSmall, Arg({"batch"}, {2}), NameList{"batch"}),
               "add: the result has the axes [batch, head_dim], not [batch]");
  EXPECT_ERROR(where(kTruth, kSmall, 0, kSmall.names),
               "where: the result has the axes [position, batch, head_dim], not [batch, head_dim]");
}

TEST(Errors, Reductions) {
  EXPECT_ERROR(reduce(Reduction::sum, kHidden, NameList({"embed", "embed"})),
               "sum: axis embed is named twice in [embed, embed]");
  EXPECT_ERROR(softmax(kHidden, {}), "softmax: no axis was given");
  EXPECT_ERROR(log_softmax(kHidden, {}), "log_softmax: no axis was given");
  const Arg none({"a", "b"}, {2, 0});
  EXPECT_ERROR(reduce(Reduction::max, none, NameList{"b"}), "max: axis b of [a=2, b=0] has no elements");
  for (const auto op : {Reduction::mean, Reduction::var}) {
    EXPECT_ERROR(reduce(op, none, NameList{"b"}),
                 std::string(name(op)) + ": axis b of [a=2, b=0] has no elements");
    EXPECT_ERROR(reduce(op, none, none.names),
                 std::string(name(op)) + ": axis b of [a=2, b=0] has no elements");
  }
  EXPECT_EQ(reduce(Reduction::sum, none, NameList{"b"}).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_ERROR(argmax(none, "b"), "argmax: axis b of [a=2, b=0] has no elements");
  EXPECT_ERROR(
      top_k(kSmall, "head_dim", 65),
      "top_k: k = 65 is not between 1 and the 64 elements of axis head_dim in [batch=2, head_dim=64]");
}

TEST(Errors, Shapes) {
  EXPECT_ERROR(rearrange(kSmall, NameList({"batch", "heads"})),
               "rearrange: the result has the axes [batch, head_dim], not [batch, heads]");
  const Dims three{3}, four_two{4, 2};
  const NameList batch{"batch"}, ab{"a", "b"}, aa{"a", "a"}, bh{"batch", "a"};
  const Arg vector({"batch"}, {2}), eight({"batch", "x"}, {2, 8});
  EXPECT_ERROR(broadcast(vector, {batch, three}),
               "broadcast: axis batch is 2 in [batch=2] but 3 in [batch=3]");
  EXPECT_ERROR(broadcast(vector, {Names(ab).first(1), three}),
               "broadcast: axis batch of [batch=2] is missing from [a=3]");
  EXPECT_ERROR(broadcast(vector, {ab, three}), "broadcast: 2 axes are named but 1 sizes are given: [a=3, b]");
  EXPECT_ERROR(flatten(kHidden, {}, "all"), "flatten: no axis of [batch=2, position=3, embed=512] was given");
  EXPECT_ERROR(flatten(kHidden, NameList({"batch", "position"}), "embed"),
               "flatten: axis embed is in [batch=2, position=3, embed=512] already\n"
               "hint: choose another name, or rename the axis it has");
  EXPECT_ERROR(
      unflatten(kSmall, "head_dim", {ab, four_two}),
      "unflatten: axis head_dim of [batch=2, head_dim=64] has size 64, but the sizes of [a=4, b=2] multiply "
      "to 8");
  EXPECT_ERROR(unflatten(eight, "x", {aa, four_two}), "unflatten: axis a appears twice in [a=4, a=2]");
  EXPECT_ERROR(unflatten(eight, "x", {bh, four_two}),
               "unflatten: axis batch is in [batch=2, x=8] already\n"
               "hint: choose another name, or rename the axis it has");
}

TEST(Errors, Joining) {
  EXPECT_ERROR(concatenate({}, "a"), "concatenate: no arrays were given");
  EXPECT_ERROR(stack({}, "a"), "stack: no arrays were given");
  const Operand different[] = {kSmall, kHidden};
  const Arg three({"batch", "head_dim"}, {3, 2}), narrow({"batch", "head_dim"}, {2, 1}, DType::bf16);
  const Operand tall[] = {kSmall, three}, types[] = {kSmall, narrow}, same[] = {kSmall, kSmall};
  EXPECT_ERROR(concatenate(different, "batch"),
               "concatenate: the arrays have different axes: [batch=2, head_dim=64] and "
               "[batch=2, position=3, embed=512]");
  EXPECT_ERROR(concatenate(tall, "batch"),
               "concatenate: axis head_dim is 64 in [batch=2, head_dim=64] but 2 in [batch=3, head_dim=2]\n"
               "hint: only axis batch, along which they are joined, may differ");
  EXPECT_ERROR(concatenate(types, "head_dim"),
               "concatenate: [batch=2, head_dim=64] holds f32 but [batch=2, head_dim=1] holds bf16\n"
               "hint: cast one of them; element types are never mixed silently");
  EXPECT_ERROR(stack(same, "batch"),
               "stack: axis batch is in [batch=2, head_dim=64] already\n"
               "hint: choose another name, or rename the axis it has");
  EXPECT_ERROR(stack(tall, "n"),
               "stack: axis batch is 2 in [batch=2, head_dim=64] but 3 in [batch=3, head_dim=2]\n"
               "hint: one name has one size; rename one of the two axes if they are different things");
}

TEST(Errors, Pieces) {
  const Dims sizes{1, 4};
  EXPECT_ERROR(
      split(kHidden, "position", sizes),
      "split: the sizes [1, 4] do not add up to the 3 of axis position in [batch=2, position=3, embed=512]");
  EXPECT_ERROR(slice(kHidden, "position", 2, 2),
               "slice: elements 2 to 4 are not all within axis position of size 3 in "
               "[batch=2, position=3, embed=512]");
  EXPECT_ERROR(slice(kHidden, "position", -1, 2),
               "slice: elements -1 to 1 are not all within axis position of size 3 in "
               "[batch=2, position=3, embed=512]");
  EXPECT_ERROR(dynamic_slice(kHidden, "position", full({}, 1), 2),
               "dynamic_slice: indices must be i32 or i64, [] holds f32");
  EXPECT_ERROR(dynamic_slice(kHidden, "position", full({}, 9, DType::i64), 2),
               "dynamic_slice: elements 9 to 11 are not all within axis position of size 3 in "
               "[batch=2, position=3, embed=512]");
  EXPECT_ERROR(dynamic_slice(kHidden, "position", kWhole.array, 2),
               "dynamic_slice: 0 axes are named for an array of 1 dimensions: [?=3]");
}

TEST(Errors, Indices) {
  const Arg table({"vocab", "embed"}, {8, 4});
  const NameList out{"n", "embed"}, n{"n"};
  const auto indices = [](std::vector<std::int64_t> held) {
    return Arg({"n"}, from_data({NameList{"n"}, Dims{static_cast<std::int64_t>(held.size())}}, held));
  };
  EXPECT_ERROR(
      take(table, "vocab", indices({0, 9}), out),
      "take: index 9 is outside axis vocab of size 8 in [vocab=8, embed=4]\nhint: indices go from 0 to 7");
  EXPECT_ERROR(
      take(table, "vocab", indices({9, -1}), out),
      "take: index -1 is outside axis vocab of size 8 in [vocab=8, embed=4]\nhint: indices go from 0 to 7");
  EXPECT_ERROR(take(table, "vocab", Arg({"n"}, {3}), out),
               "take: indices must be i32 or i64, [n=3] holds f32");
  EXPECT_ERROR(take(table, "vocab", indices({1}), n), "take: the result has the axes [n, embed], not [n]");
  EXPECT_ERROR(take(table, "vocabulary", indices({1}), out),
               "take: no axis vocabulary in [vocab=8, embed=4]");
  EXPECT_ERROR(scatter_add(table, "vocab", indices({1, 8}), Arg({"n", "embed"}, {2, 4})),
               "scatter_add: index 8 is outside axis vocab of size 8 in [vocab=8, embed=4]\n"
               "hint: indices go from 0 to 7");
  EXPECT_ERROR(scatter_add(table, "vocab", indices({1, 7}), Arg({"n"}, {2})),
               "scatter_add: the updates must have the axes [n, embed], they are [n=2]");
  EXPECT_ERROR(one_hot(indices({1}), "n", 4),
               "one_hot: axis n is in [n=1] already\nhint: choose another name, or rename the axis it has");
  EXPECT_ERROR(one_hot(indices({1, 4}), "m", 4),
               "one_hot: index 4 is outside axis m of size 4\nhint: indices go from 0 to 3");
  EXPECT_ERROR(one_hot(indices({-1, 3}), "m", 4),
               "one_hot: index -1 is outside axis m of size 4\nhint: indices go from 0 to 3");
  EXPECT_ERROR(one_hot(indices({1}), "m", -4), "one_hot: axis m cannot have size -4");
}

TEST(Errors, CastsThatDoNotFit) {
  const auto held = [](std::vector<float> x) {
    const Dims sizes{static_cast<std::int64_t>(x.size())};
    return Arg({"n"}, from_data({NameList{"n"}, sizes}, std::span<const float>(x)));
  };
  const std::string hint = "\nhint: limit them with minimum and maximum, or see where they come from";
  EXPECT_ERROR(cast(held({1, 1e10F}), DType::i32),
               "cast: [n=2] holds values from 1 to 10000000000, which i32 cannot hold" + hint);
  EXPECT_ERROR(cast(held({1, std::nanf("")}), DType::i64),
               "cast: [n=2] holds values that are not a number, which i64 cannot hold");
  EXPECT_ERROR(cast(held({-1, 3}), DType::u8),
               "cast: [n=2] holds values from -1 to 3, which u8 cannot hold" + hint);
  EXPECT_EQ(cast(held({-2.5, 3.5}), DType::i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{-2, 3}));
  EXPECT_EQ(cast(held({}), DType::i32).numel(), 0);
}

TEST(Errors, Creation) {
  const NameList ab{"a", "b"}, aa{"a", "a"};
  const Dims sizes{2, 3}, negative{2, -3}, one{2};
  EXPECT_ERROR(zeros({ab, one}), "zeros: 2 axes are named but 1 sizes are given: [a=2, b]");
  EXPECT_ERROR(ones({ab, negative}), "ones: axis b cannot have size -3");
  EXPECT_ERROR(full({aa, sizes}, 1), "full: axis a appears twice in [a=2, a=3]");
  EXPECT_ERROR(full({ab, sizes}, 0.5, DType::i32),
               "full: 0.5 is not a whole number, but i32 was asked for\nhint: pass DType::f32");
  EXPECT_ERROR(arange({ab, sizes}),
               "arange: runs along one axis, [a=2, b=3] has 2\nhint: broadcast the result");
  EXPECT_ERROR(from_data({ab, sizes}, std::vector<float>(5)),
               "from_data: [a=2, b=3] of f32 takes 6 elements (24 bytes), 20 bytes were given");
  EXPECT_ERROR(random_uniform({}, {ab, sizes}, 2, 1), "random_uniform: low = 2 is above high = 1");
  EXPECT_ERROR(random_normal({}, {ab, sizes}, 0, -1), "random_normal: std = -1 is negative");
  EXPECT_ERROR(random_truncated_normal({}, {ab, sizes}, 1, 1),
               "random_truncated_normal: low = 1 is not below high = 1");
  EXPECT_ERROR(dropout(kHidden, 1, Key{}), "dropout: p = 1 is not in [0, 1)");
  EXPECT_ERROR(dropout(kWhole, 0.5, Key{}),
               "dropout: needs floating-point elements, [position=3] holds i64\nhint: cast it to f32 first");
}

TEST(Errors, Arrays) {
  EXPECT_ERROR(stop_gradient(Array()), "stop_gradient: the array is empty (it was never given a value)");
  EXPECT_ERROR(whole_size(Array(), 0), "size: the array is empty (it was never given a value)");
  EXPECT_ERROR(Array().dtype(), "dtype: the array is empty (it was never given a value)");
  EXPECT_ERROR(kSmall.array.size(2), "size: no dimension 2 in an array of 2");
  EXPECT_ERROR(kSmall.array.item(),
               "item: the array has 128 elements, not one\nhint: reduce it first, or to_vector()");
  EXPECT_ERROR(kSmall.array.data<std::int64_t>(),
               "data: a pointer to i64 was asked for, the array holds f32\nhint: cast it first");
  EXPECT_ERROR(kSmall.array.data<std::uint16_t>(),
               "data: a pointer to bf16 or f16 was asked for, the array holds f32\nhint: cast it first");
  EXPECT_ERROR(wrap(values({2, 3}).t()).data<float>(),
               "data: the array of sizes [3, 2] is not contiguous\nhint: clone() it first");
  EXPECT_ERROR(wrap(values({2}).to(at::kChar)).dtype(), "array: element type Char is not one of Bora's");
  EXPECT_ERROR(
      parse_dtype("float31"),
      "dtype: float31 is not one of f32, f64, bf16, f16, i64, i32, u8, bool; did you mean `float32`?");
}

TEST(Errors, CrossEntropyOfTargetsThatAreNoIndices) {
  EXPECT_ERROR(cross_entropy(Arg({"n", "vocab"}, {2, 4}), "vocab", Arg({"n"}, {2})),
               "cross_entropy: indices must be i32 or i64, [n=2] holds f32");
}

TEST(Errors, TargetsOutsideTheVocabulary) {
  const NameList positions{"position"};
  const Dims three{3};
  const Arg hidden({"position", "embed"}, {3, 4}), head({"vocab", "embed"}, {5, 4});
  const auto loss = [&](std::vector<std::int32_t> targets, std::vector<float> weights) {
    const Arg t(positions, from_data({positions, three}, std::span<const std::int32_t>(targets)));
    const Arg w(positions, from_data({positions, three}, std::span<const float>(weights)));
    return linear_cross_entropy(hidden, head, t, w).loss.item();
  };
  const std::string hint =
      " is outside the vocabulary of 5\nhint: the tokenizer and the model disagree on vocab_size";
  EXPECT_ERROR(loss({0, 5, 4}, {1, 1, 1}), "linear_cross_entropy: target 5 at position 1" + hint);
  EXPECT_ERROR(loss({0, 1, 5}, {1, 1, 0}), "linear_cross_entropy: target 5 at position 2" + hint);
  EXPECT_ERROR(loss({-1, 1, 4}, {1, 1, 1}), "linear_cross_entropy: target -1 at position 0" + hint);
  EXPECT_EQ(loss({-1, 1, 4}, {0, 1, 1}), loss({0, 1, 4}, {0, 1, 1})) << "where nothing counts";
}

TEST(Errors, CrossEntropyOverAnotherAxis) {
  const NameList names{"batch", "position"};
  const Arg targets(names, wrap(integers({2, 4}, 4)));
  const Arg logits({"batch", "position", "vocab"}, {2, 3, 4}),
      square({"batch", "position", "vocab"}, {2, 4, 4});
  const auto message = [](const std::string& sizes) {
    return "cross_entropy: the targets [batch=2, position=4] must have the axes [batch, vocab]: those of the "
           "logits " +
           sizes +
           " without position, along which the classes lie\n"
           "hint: is position the axis of the classes?";
  };
  EXPECT_ERROR(cross_entropy(logits, "position", targets), message("[batch=2, position=3, vocab=4]"));
  EXPECT_ERROR(cross_entropy(square, "position", targets), message("[batch=2, position=4, vocab=4]"))
      << "where sizes happen to agree";
  EXPECT_EQ(cross_entropy(square, "vocab", targets).sizes(), (std::vector<std::int64_t>{2, 4}));
  const Arg high(names, wrap(integers({2, 4}, 1).add(4))), low(names, wrap(integers({2, 4}, 1).sub(1)));
  const std::string rest =
      " is outside axis vocab of size 4 in [batch=2, position=4, vocab=4]\nhint: classes go "
      "from 0 to 3";
  EXPECT_ERROR(cross_entropy(square, "vocab", high), "cross_entropy: target 4" + rest);
  EXPECT_ERROR(cross_entropy(square, "vocab", low), "cross_entropy: target -1" + rest);
  EXPECT_ERROR(cross_entropy(square, "vocab", Arg(names, {2, 4})),
               "cross_entropy: indices must be i32 or i64, [batch=2, position=4] holds f32");
}

}  // namespace
}  // namespace bora::core
