// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every op has the same bits, forward and backward, for 1, 2, 3 and 4 threads.
#include <ATen/Parallel.h>

#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/index.h"
#include "bora/core/reduce.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

const NameList kAbc{"a", "b", "c"};

// Value and gradients, each of these inputs being recorded if it can be.
std::vector<T> bits(const std::vector<Named>& inputs, const Mine& op) {
  const std::vector<T> recorded = leaves(inputs);
  std::vector<Array> arrays;
  std::vector<Operand> operands;
  for (const T& t : recorded) arrays.push_back(wrap(t));
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back({arrays[i], inputs[i].names});
  const T result = tensor(op(operands).array);
  pull_back(result);
  std::vector<T> out{result.detach()};
  for (const T& t : recorded) {
    if (t.grad().defined()) out.push_back(t.grad());
  }
  return out;
}

void expect_equal_for_all_threads(const std::vector<Named>& inputs, const Mine& op) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<T> want = bits(inputs, op);
  for (const int threads : {2, 3, 4}) {
    at::set_num_threads(threads);
    const std::vector<T> got = bits(inputs, op);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(got[i].equal(want[i])) << threads << " threads, " << (i == 0 ? "value" : "gradient");
    }
  }
  at::set_num_threads(before);
}

// Sizes that no number of threads or lanes divides, above the size from which torch splits work.
const std::vector<Dims> kSizes{{7, 61, 193}, {3, 2, 16411}, {129, 257, 3}};

TEST(Threads, Reductions) {
  for (const Reduction op : {Reduction::sum, Reduction::var, Reduction::logsumexp}) {
    const Mine all = [&](auto in) { return Result{reduce(op, in[0], kAbc), {}}; };
    expect_equal_for_all_threads({{values({1, 100003, 1}), kAbc}}, all);
    for (const Dims& sizes : kSizes) {
      for (const NameList& over : {NameList{"a"}, NameList{"b"}, NameList{"c"}, NameList{"a", "b"},
                                   NameList{"a", "c"}, NameList{"b", "c"}, NameList{"a", "b", "c"}}) {
        SCOPED_TRACE(std::string(name(op)) + " of " + describe(Shape{kAbc, sizes}) + " over " +
                     describe(over));
        const Mine reduced = [&](auto in) { return Result{reduce(op, in[0], over), {}}; };
        expect_equal_for_all_threads({{values(sizes), kAbc}}, reduced);
        if (op != Reduction::sum) continue;
        const T turned = values({sizes[2], sizes[0], sizes[1]}).permute({1, 2, 0});
        expect_equal_for_all_threads({{turned, kAbc}}, reduced);
      }
    }
  }
}

TEST(Threads, Elementwise) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const Dims sizes = {7, 61, 193};
    const T x = values(sizes).to(type), positive = x.abs().add(0.1), y = values(sizes, 1).to(type);
    SCOPED_TRACE(at::toString(type));
    for (int i = 0; i <= static_cast<int>(Unary::is_nan); ++i) {
      const auto op = static_cast<Unary>(i);
      SCOPED_TRACE(name(op));
      if (op == Unary::logical_not) continue;
      const bool log = op == Unary::log || op == Unary::log1p || op == Unary::sqrt || op == Unary::rsqrt;
      expect_equal_for_all_threads({{log ? positive : x, kAbc}}, [&](auto in) {
        return Result{unary(op, in[0]), {}};
      });
    }
    for (int i = 0; type == at::kFloat && i <= static_cast<int>(Binary::remainder); ++i) {
      const auto op = static_cast<Binary>(i);
      SCOPED_TRACE(name(op));
      expect_equal_for_all_threads({{positive, kAbc}, {y, kAbc}}, [&](auto in) {
        return Result{binary(op, in[0], in[1], kAbc), {}};
      });
      expect_equal_for_all_threads({{positive, kAbc}}, [&](auto in) {
        return Result{binary(op, in[0], 1.7), {}};
      });
      expect_equal_for_all_threads({{x, kAbc}}, [&](auto in) { return Result{binary(op, 1.7, in[0]), {}}; });
    }
  }
}

TEST(Threads, SumsOfBroadcastGradients) {
  for (const Dims& sizes : kSizes) {
    for (const NameList& own :
         {NameList{}, NameList{"a"}, NameList{"b"}, NameList{"c"}, NameList{"a", "c"}}) {
      SCOPED_TRACE(describe(Shape{kAbc, sizes}) + " with " + describe(own));
      Dims small;
      for (const std::string_view axis : own) small.push_back(sizes[find(kAbc, axis)]);
      expect_equal_for_all_threads({{values(sizes), kAbc}, {values(small, 1), own}}, [](auto in) {
        return Result{binary(Binary::multiply, in[0], in[1], kAbc), {}};
      });
      expect_equal_for_all_threads({{values(small, 1), own}}, [&](auto in) {
        return Result{broadcast(in[0], {kAbc, sizes}), {}};
      });
      const Array condition = wrap(values(sizes).gt(0));
      expect_equal_for_all_threads({{values(sizes), kAbc}, {values(small, 1), own}}, [&](auto in) {
        return Result{where({condition, kAbc}, in[0], in[1], kAbc), {}};
      });
    }
  }
}

TEST(Threads, SoftmaxCumsumSortDropout) {
  for (const Dims& sizes : kSizes) {
    SCOPED_TRACE(describe(Shape{kAbc, sizes}));
    const std::vector<Named> x{{values(sizes), kAbc}};
    for (const NameList& over : {NameList{"a"}, NameList{"b"}, NameList{"c"}, NameList{"a", "c"}}) {
      SCOPED_TRACE(describe(over));
      expect_equal_for_all_threads(x, [&](auto in) { return Result{softmax(in[0], over), {}}; });
      SCOPED_TRACE("log_softmax");
      expect_equal_for_all_threads(x, [&](auto in) { return Result{log_softmax(in[0], over), {}}; });
    }
    expect_equal_for_all_threads(x, [](auto in) { return Result{cumsum(in[0], "b"), {}}; });
    expect_equal_for_all_threads(x, [](auto in) { return Result{sort(in[0], "c").first, {}}; });
    expect_equal_for_all_threads(x, [](auto in) { return Result{top_k(in[0], "c", 1).first, {}}; });
    expect_equal_for_all_threads(x, [](auto in) {
      return Result{dropout(in[0], 0.3, Key::from_seed(1)), {}};
    });
  }
}

TEST(Threads, TakeAndScatterAdd) {
  const T ids = integers({4001}, 97), shared = integers({13, 307}, 97);
  const Array id_array = wrap(ids), shared_array = wrap(shared);
  const NameList n{"n"}, an{"a", "n"}, vocab{"vocab", "embed"};
  const NameList found{"n", "embed"};
  expect_equal_for_all_threads({{values({97, 67}), vocab}}, [&](auto in) {
    return Result{take(in[0], "vocab", {id_array, n}, found), {}};
  });
  expect_equal_for_all_threads({{values({67, 97}), {"embed", "vocab"}}}, [&](auto in) {
    return Result{take(in[0], "vocab", {id_array, n}, found), {}};
  });
  expect_equal_for_all_threads({{values({13, 97}), {"a", "b"}}}, [&](auto in) {
    return Result{take(in[0], "b", {shared_array, an}, an), {}};
  });
  const NameList all{"a", "n", "c"};
  expect_equal_for_all_threads({{values({13, 97, 31}), kAbc}}, [&](auto in) {
    return Result{take(in[0], "b", {shared_array, an}, all), {}};
  });
  expect_equal_for_all_threads({{values({97, 67}), vocab}, {values({4001, 67}, 1), found}}, [&](auto in) {
    return Result{scatter_add(in[0], "vocab", {id_array, n}, in[1]), {}};
  });
  expect_equal_for_all_threads({{values({97}), {"vocab"}}, {values({4001}, 1), n}}, [&](auto in) {
    return Result{scatter_add(in[0], "vocab", {id_array, n}, in[1]), {}};
  });
}

}  // namespace
}  // namespace bora::core
