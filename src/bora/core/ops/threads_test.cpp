// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every op has the same bits, forward and backward, for 1, 2, 3 and 4 threads.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "bora/core/activation.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grouped.h"
#include "bora/core/index.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/reduce.h"
#include "bora/core/routing.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

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

// Collected first and run together: changing the number of threads is what takes time.
class Cases {
 public:
  void add(std::string what, std::vector<Named> inputs, Mine op) {
    cases_.push_back({std::move(what), std::move(inputs), std::move(op), {}});
  }
  void expect_equal_for_all_threads() {
    const int before = kernels::threads();
    kernels::set_threads(1);
    for (Case& c : cases_) c.want = bits(c.inputs, c.op);
    for (const int threads : {2, 3, 4}) {
      kernels::set_threads(threads);
      for (const Case& c : cases_) {
        const std::vector<T> got = bits(c.inputs, c.op);
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_TRUE(got[i].equal(c.want[i]))
              << c.what << ": " << (i == 0 ? "value" : "gradient") << " with " << threads << " threads";
        }
      }
    }
    kernels::set_threads(before);
  }

 private:
  struct Case {
    std::string what;
    std::vector<Named> inputs;
    Mine op;
    std::vector<T> want;
  };
  std::vector<Case> cases_;
};

// Sizes that no number of threads or lanes divides, above the size from which torch splits work.
const std::vector<Dims> kManySizes{{7, 61, 193}, {3, 2, 16411}, {129, 257, 3}};

std::string text(std::string_view op, const Dims& sizes, const NameList& axes) {
  return fmt::format("{} of {}, {}", op, describe(Shape{kAbc, sizes}), describe(axes));
}

TEST(Threads, SomebodyLooksBetweenChunks) {
  const auto here = std::this_thread::get_id();
  int looks = 0;
  const auto one_chunk = [] { kernels::for_chunks(5, 10, [](std::int64_t, std::int64_t) {}); };
  auto first = std::make_unique<kernels::BetweenChunks>([&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++looks;
  });
  kernels::for_chunks(100, 10, [](std::int64_t, std::int64_t) {});
  looks = 0;
  one_chunk();
  EXPECT_EQ(looks, 1);
  int others = 0;
  auto second = std::make_unique<kernels::BetweenChunks>([&] { ++others; });
  one_chunk();
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(others, 1);
  std::thread(one_chunk).join();  // another thread's loops are not theirs
  EXPECT_EQ(others, 1);
  first.reset();  // not the newest
  one_chunk();
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(others, 2);
  second.reset();
  one_chunk();
  EXPECT_EQ(others, 2);
}

TEST(Threads, Reductions) {
  Cases cases;
  const std::vector<NameList> sets{{"a"}, {"b"}, {"c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}, {"a", "b", "c"}};
  for (const Reduction op : {Reduction::sum, Reduction::var, Reduction::logsumexp}) {
    const auto over = [op](const NameList& axes) {
      return [=](std::span<const Operand> in) { return Result{reduce(op, in[0], axes), {}}; };
    };
    cases.add(std::string(name(op)) + " of one axis", {{values({1, 100003, 1}), kAbc}}, over(kAbc));
    for (const Dims& sizes : kManySizes) {
      const T turned = values({sizes[2], sizes[0], sizes[1]}).permute({1, 2, 0});
      for (const NameList& axes : sets) {
        cases.add(text(name(op), sizes, axes), {{values(sizes), kAbc}}, over(axes));
        if (op != Reduction::sum) continue;
        cases.add(text(name(op), sizes, axes) + ", permuted", {{turned, kAbc}}, over(axes));
      }
    }
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, Unary) {
  Cases cases;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const T x = values({7, 61, 193}).to(type), positive = x.abs().add(0.1);
    for (int i = 0; i <= static_cast<int>(Unary::is_nan); ++i) {
      const auto op = static_cast<Unary>(i);
      if (op == Unary::logical_not) continue;
      cases.add(fmt::format("{} {}", at::toString(type), name(op)),
                {{needs_positive(op) ? positive : x, kAbc}},
                [=](auto in) { return Result{unary(op, in[0]), {}}; });
    }
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, Activations) {
  Cases cases;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const T x = values({7, 61, 193}).to(type);
    for (int i = 0; i <= static_cast<int>(Activation::tanh); ++i) {
      const auto f = static_cast<Activation>(i);
      cases.add(fmt::format("{} {}", at::toString(type), name(f)), {{x, kAbc}},
                [=](auto in) { return Result{activate(f, in[0]), {}}; });
    }
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, Binary) {
  Cases cases;
  const T x = values({7, 61, 193}), positive = x.abs().add(0.1), y = values({7, 61, 193}, 1);
  for (int i = 0; i <= static_cast<int>(Binary::remainder); ++i) {
    const auto op = static_cast<Binary>(i);
    const std::string what(name(op));
    cases.add(what, {{positive, kAbc}, {y, kAbc}},
              [=](auto in) { return Result{binary(op, in[0], in[1], kAbc), {}}; });
    cases.add(what + ", number", {{positive, kAbc}},
              [=](auto in) { return Result{binary(op, in[0], 1.7), {}}; });
    cases.add("number, " + what, {{x, kAbc}}, [=](auto in) { return Result{binary(op, 1.7, in[0]), {}}; });
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, SumsOfBroadcastGradients) {
  Cases cases;
  for (const Dims& sizes : kManySizes) {
    const Array condition = wrap(values(sizes).gt(0));
    for (const NameList& own : std::vector<NameList>{{}, {"a"}, {"b"}, {"c"}, {"a", "c"}}) {
      Dims small;
      for (const std::string_view axis : own) small.push_back(sizes[find(kAbc, axis)]);
      cases.add(text("multiply", sizes, own), {{values(sizes), kAbc}, {values(small, 1), own}},
                [](auto in) { return Result{binary(Binary::multiply, in[0], in[1], kAbc), {}}; });
      cases.add(text("broadcast", sizes, own), {{values(small, 1), own}},
                [=](auto in) { return Result{broadcast(in[0], {kAbc, sizes}), {}}; });
      cases.add(text("where", sizes, own), {{values(sizes), kAbc}, {values(small, 1), own}},
                [=](auto in) { return Result{where({condition, kAbc}, in[0], in[1], kAbc), {}}; });
    }
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, SoftmaxCumsumSortDropout) {
  Cases cases;
  for (const Dims& sizes : kManySizes) {
    const std::vector<Named> x{{values(sizes), kAbc}};
    for (const NameList& over : std::vector<NameList>{{"a"}, {"b"}, {"c"}, {"a", "c"}}) {
      cases.add(text("softmax", sizes, over), x, [=](auto in) { return Result{softmax(in[0], over), {}}; });
      cases.add(text("log_softmax", sizes, over), x,
                [=](auto in) { return Result{log_softmax(in[0], over), {}}; });
    }
    cases.add(text("cumsum", sizes, {}), x, [](auto in) { return Result{cumsum(in[0], "b"), {}}; });
    cases.add(text("sort", sizes, {}), x, [](auto in) { return Result{sort(in[0], "c").first, {}}; });
    cases.add(text("top_k", sizes, {}), x, [](auto in) { return Result{top_k(in[0], "c", 1).first, {}}; });
    cases.add(text("dropout", sizes, {}), x,
              [](auto in) { return Result{dropout(in[0], 0.3, Key::from_seed(1)), {}}; });
  }
  cases.expect_equal_for_all_threads();
}

TEST(Threads, TakeAndScatterAdd) {
  Cases cases;
  const T ids = integers({4001}, 97), shared = integers({13, 307}, 97);
  const Array id_array = wrap(ids), shared_array = wrap(shared);
  const NameList n{"n"}, an{"a", "n"}, vocab{"vocab", "embed"};
  const NameList found{"n", "embed"};
  cases.add("look up", {{values({97, 67}), vocab}},
            [&](auto in) { return Result{take(in[0], "vocab", {id_array, n}, found), {}}; });
  cases.add("look up in columns", {{values({67, 97}), {"embed", "vocab"}}},
            [&](auto in) { return Result{take(in[0], "vocab", {id_array, n}, found), {}}; });
  cases.add("pick", {{values({13, 97}), {"a", "b"}}},
            [&](auto in) { return Result{take(in[0], "b", {shared_array, an}, an), {}}; });
  const NameList all{"a", "n", "c"};
  cases.add("take", {{values({13, 97, 31}), kAbc}},
            [&](auto in) { return Result{take(in[0], "b", {shared_array, an}, all), {}}; });
  cases.add("scatter_add", {{values({97, 67}), vocab}, {values({4001, 67}, 1), found}},
            [&](auto in) { return Result{scatter_add(in[0], "vocab", {id_array, n}, in[1]), {}}; });
  cases.add("scatter_add of numbers", {{values({97}), {"vocab"}}, {values({4001}, 1), n}},
            [&](auto in) { return Result{scatter_add(in[0], "vocab", {id_array, n}, in[1]), {}}; });
  cases.expect_equal_for_all_threads();
}

TEST(Threads, Experts) {
  Cases cases;
  const Array chosen = wrap(integers({701, 3}, 6));
  const NameList t{"t"}, tk{"t", "k"}, te{"t", "e"}, se{"s", "e"}, so{"s", "o"}, to{"t", "o"};
  const Routing routing = route({chosen, tk}, 6);
  cases.add("mixture",
            {{values({701, 67}), te}, {values({6, 61, 67}, 1), {"x", "o", "e"}}, {values({701, 3}, 2), tk}},
            [&](auto in) {
              const Array slots = dispatch(in[0], routing, t, se);
              const Array y = grouped_linear({slots, se}, routing.rows, in[1], {}, so);
              return Result{combine({y, so}, in[2], routing, to), to};
            });
  cases.expect_equal_for_all_threads();
}

}  // namespace
}  // namespace bora::core
