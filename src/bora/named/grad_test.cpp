// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/grad.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <variant>

#include "bora/base/error.h"
#include "bora/named/ops.h"
#include "bora/named/test_values.h"

namespace bora {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct In : axis<"in"> {};
struct Out : axis<"out"> {};

struct Affine {
  static constexpr std::string_view kind = "Affine";
  using in = Axes<In>;
  Named<Out, In> weight;
  Named<Out> bias;
  double scale = 1;
  using fields = Fields<&Affine::weight, &Affine::bias, &Affine::scale>;

  static Affine make(std::uint64_t seed) {
    auto [w, b] = Key::from_seed(seed).split<2>();
    return {random_normal(w, 0, 1, Dim<Out>{2}, Dim<In>{3}), random_normal(b, 0, 1, Dim<Out>{2}), 0.5};
  }
  Named<Batch, Out> operator()(const Named<Batch, In>& x) const {
    return (dot<In>(x, weight) + bias) * scale;
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  Affine first;
  std::optional<Affine> second;
  std::vector<Affine> more;
  using fields = Fields<&Block::first, &Block::second, &Block::more>;
};

struct List {
  static constexpr bool elements_only = true;
  std::vector<Affine> all;
  using fields = Fields<&List::all>;
};
struct Model {
  static constexpr std::string_view kind = "Model";
  Named<In> weight;  // a weight without declared inputs
  Block block;
  List list;
  using fields = Fields<&Model::weight, &Model::block, &Model::list>;
};

std::vector<std::string> paths(auto& model) {
  std::vector<std::string> out;
  for (auto& p : parameters(model)) out.push_back(p.path);
  return out;
}

TEST(Parameters, PathsKindsAxesInputsInOrder) {
  Model model{ones(Dim<In>{3}),
              {Affine::make(1), Affine::make(2), {Affine::make(3), Affine::make(4)}},
              {{Affine::make(5)}}};
  EXPECT_EQ(paths(model), (std::vector<std::string>{
                              "weight", "block.first.weight", "block.first.bias", "block.second.weight",
                              "block.second.bias", "block.more.0.weight", "block.more.0.bias",
                              "block.more.1.weight", "block.more.1.bias", "list.0.weight", "list.0.bias"}));
  auto all = parameters(model);
  EXPECT_EQ(all[0].module, "Model");
  EXPECT_TRUE(all[0].inputs.empty());
  EXPECT_EQ(all[1].module, "Model.Block.Affine");
  EXPECT_EQ(all[1].axes, (std::vector<std::string_view>{"out", "in"}));
  EXPECT_EQ(all[1].inputs, (std::vector<std::string_view>{"in"}));
  EXPECT_TRUE(all[2].inputs.empty());
  EXPECT_EQ(all[9].module, "Model.Affine");
  EXPECT_EQ(all[9].id, 9u);
  EXPECT_EQ(all[9].role, core::Role::weight);
  EXPECT_EQ(all[10].role, core::Role::bias);
  EXPECT_TRUE(all[10].trainable);
  EXPECT_EQ(all[1].array, &model.block.first.weight.mutable_array());
  EXPECT_EQ(parameter_count(model), 3 + 5 * (6 + 2));
}

TEST(Parameters, EmptyOnesAreNotThere) {
  Model model;
  EXPECT_TRUE(paths(model).empty());
  model.block.first = Affine::make(1);
  model.block.first.bias = {};
  EXPECT_EQ(paths(model), (std::vector<std::string>{"block.first.weight"}));
  EXPECT_EQ(parameter_count(model), 6);
}

struct Everywhere {
  std::vector<Named<In>> scales;
  std::array<Affine, 2> pair;
  std::unique_ptr<Affine> owned;
  std::map<std::string, Affine> heads;
  std::variant<std::monostate, Affine, Named<Out>> choice;
  std::vector<std::optional<Named<Out>>> maybe;
  Named<In> table;
  using fields = Fields<&Everywhere::scales, &Everywhere::pair, &Everywhere::owned, &Everywhere::heads,
                        &Everywhere::choice, &Everywhere::maybe, buffer<&Everywhere::table>>;
};

TEST(Parameters, InEveryContainerButNotInBuffers) {
  Everywhere model;
  model.scales = {ones(Dim<In>{3}), ones(Dim<In>{3})};
  model.pair[1] = Affine::make(1);
  model.owned = std::make_unique<Affine>(Affine::make(2));
  model.heads["b"] = Affine::make(3);
  model.heads["a"].weight = Affine::make(4).weight;
  model.choice = ones(Dim<Out>{2});
  model.maybe = {std::nullopt, ones(Dim<Out>{2})};
  model.table = ones(Dim<In>{3});
  EXPECT_EQ(paths(model), (std::vector<std::string>{"scales.0", "scales.1", "pair.1.weight", "pair.1.bias",
                                                    "owned.weight", "owned.bias", "heads.a.weight",
                                                    "heads.b.weight", "heads.b.bias", "choice", "maybe.1"}));
  model.choice = Affine::make(5);
  EXPECT_EQ(paths(model)[9], "choice.weight");
  model.choice = {};
  EXPECT_EQ(paths(model)[9], "maybe.1");
}

// More members than any real module has.
struct Many {
  Named<In> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, za, zb, zc, zd;
  using fields = Fields<&Many::a, &Many::b, &Many::c, &Many::d, &Many::e, &Many::f, &Many::g, &Many::h,
                        &Many::i, &Many::j, &Many::k, &Many::l, &Many::m, &Many::n, &Many::o, &Many::p,
                        &Many::q, &Many::r, &Many::s, &Many::t, &Many::u, &Many::v, &Many::w, &Many::x,
                        &Many::y, &Many::z, &Many::za, &Many::zb, &Many::zc, &Many::zd>;
};
struct AlmostAll {
  Named<In> a, b, c;
  double& scale;
  using fields = Fields<&AlmostAll::a, &AlmostAll::b>;
};
static_assert(ListsEveryMember<Many>);
static_assert(!ListsEveryMember<AlmostAll>, "also where a member in between has no default");

struct Padded {
  Named<In> scale;
  float table[4];
  Named<In> shift;
  using fields = Fields<&Padded::shift, &Padded::table, &Padded::scale>;
};
struct Unpadded {
  Named<In> scale;
  float table[4];
  Named<In> shift, bias;
  using fields = Fields<&Unpadded::shift, &Unpadded::table, &Unpadded::scale>;
};
static_assert(ListsEveryMember<Padded> && !ListsEveryMember<Unpadded>, "a C array is one member");
template <class T, detail::Member M>
constexpr bool leaves_out = std::is_same_v<detail::left_out<T>, detail::fields_leave_out<Unpadded, M>>;
static_assert(leaves_out<Unpadded, detail::Member{&detail::object<Unpadded>.bias}>);
static_assert(leaves_out<std::map<std::string, std::array<Unpadded, 2>>,
                         detail::Member{&detail::object<Unpadded>.bias}>);
static_assert(!leaves_out<Unpadded, detail::Member{&detail::object<Unpadded>.shift}>);
static_assert(std::is_same_v<detail::left_out<std::vector<Padded>>, detail::nothing_is_left_out>);

// What holds parameters, and what only looks like it.
struct Unlisted {
  double scale;
  Named<In> weight;
};
struct Tables {
  static constexpr bool is_buffer = true;
  core::Array angles;
};
struct Settings {
  std::string name;
  std::optional<double> rate;
  std::vector<int> sizes;
};
struct InVector {
  double scale;
  std::vector<Named<In>> weights;
};
struct Deep {
  int size;
  InVector inner;
};
struct Derived : Unlisted {
  int size;
};
struct Closed {
  explicit Closed(Named<In> w) : weight_(std::move(w)) {}

 private:
  Named<In> weight_;
};
struct Configuration {
  Configuration() : name("a") {}
  void bind(int /*binder*/) {}
  std::string name;
};
struct Tree {
  std::vector<Tree> branches;
  std::string name;
};
struct TreeOfWeights {
  std::vector<TreeOfWeights> branches;
  Named<In> weight;
};
template <class T>
struct Holds {
  T value;
};
struct Point {
  Point(int a, int b) : x(a), y(b) {}
  int x, y;
};
template <class... Ts>
inline constexpr bool cannot_be_reached_in = (!detail::held<Ts>().walked && ...);
static_assert(
    cannot_be_reached_in<Unlisted, InVector, std::vector<InVector>, Deep, Derived, Closed, TreeOfWeights>);
static_assert(cannot_be_reached_in<Holds<Named<In>*>, Holds<std::unique_ptr<Affine>>,
                                   Holds<std::shared_ptr<Affine>>, Holds<std::array<Affine, 2>>,
                                   Holds<Affine[2]>, Holds<std::optional<Named<In>>>, Holds<Closed>>);
static_assert(!detail::held<Tree>().parameters);
static_assert(!detail::held<Point>().parameters);
static_assert(!detail::held<Configuration>().parameters);
static_assert(!detail::held<Holds<std::filesystem::path>>().parameters);
static_assert(!detail::held<std::shared_ptr<Affine>>().walked);
static_assert(!detail::held<Affine*>().walked);
static_assert(!detail::held<std::map<int, Affine>>().walked);
static_assert(!detail::held<std::pair<int, Named<In>>>().walked);
static_assert(!detail::held<const Named<In>>().walked);
static_assert(detail::held<std::vector<std::map<std::string, std::optional<Affine>>>>().walked);
static_assert(!detail::held<Settings>().parameters);
static_assert(!detail::held<std::shared_ptr<Settings>>().parameters);
static_assert(!detail::held<core::Array>().walked && !detail::held<std::vector<core::Array>>().walked);
static_assert(!detail::held<Tables>().parameters && !detail::held<std::optional<Tables>>().parameters);

TEST(Parameters, OfAModuleWithManyMembers) {
  Many many;
  many.zd = ones(Dim<In>{3});
  EXPECT_EQ(paths(many), std::vector<std::string>{"zd"});
}

// Without the namespace, which compilers write in their own ways.
std::string short_error_of(const std::function<void()>& f) {
  auto text = error_of(f);
  for (const std::string space : {"bora::{anonymous}::", "bora::(anonymous namespace)::"})
    if (const auto at = text.find(space); at != std::string::npos) text.erase(at, space.size());
  return text;
}

TEST(Parameters, TwoThatAreOneArrayAreRefused) {
  List list{{Affine::make(1), Affine::make(2), Affine::make(3)}};
  list.all[2].bias = list.all[0].bias;
  EXPECT_EQ(short_error_of([&] { parameters(list); }),
            "List: all.0.bias and all.2.bias are one array, which would be updated and saved twice\n"
            "hint: to tie them, keep one field and use it in both places, as a head() that returns the "
            "embedding; else give the second values of its own");
}

struct Norm {
  static constexpr std::string_view kind = "RmsNorm";
  Named<In> weight, bias;
  using fields = Fields<&Norm::weight, &Norm::bias>;
};
struct Router {
  static constexpr core::Role role = core::Role::router;
  Affine map;
  using fields = Fields<&Router::map>;
};
struct Lm {
  Norm norm;
  List layers;
  Router router;
  Affine lm_head;
  using fields = Fields<&Lm::norm, &Lm::layers, &Lm::router, &Lm::lm_head>;
  const Named<Out, In>& head() const { return lm_head.weight; }
};

TEST(Parameters, HaveARoleAndAnIdOfTheWholeModel) {
  Lm model{{ones(Dim<In>{3}), ones(Dim<In>{3})}, {{Affine::make(1)}}, {Affine::make(2)}, Affine::make(3)};
  std::string roles, ids;
  for (const auto& p : parameters(model)) roles += std::string(core::role_name(p.role)) + " ";
  EXPECT_EQ(roles, "norm bias weight bias router bias head bias ");
  for (const auto& p : parameters_outside_stacks(model)) ids += std::to_string(p.id) + " ";
  EXPECT_EQ(ids, "0 1 4 5 6 7 ");
}

TEST(ValueAndGrad, FrozenParametersHaveNone) {
  auto model = Affine::make(1);
  const auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  const auto loss = [&](const Affine& m) { return mean_all(square(m(x))); };
  const auto all = value_and_grad(model, loss);
  core::set_trainable(model.weight.mutable_array(), false);
  EXPECT_FALSE(parameters(model)[0].trainable);
  EXPECT_EQ(core::trainable_parameters(parameters(model)).size(), 1u);
  const auto some = value_and_grad(model, loss);
  EXPECT_TRUE(some.gradients.weight.empty());
  EXPECT_TRUE(same_bits(some.gradients.bias, all.gradients.bias));
  EXPECT_FALSE(model.weight.empty());
  core::set_trainable(model.bias.mutable_array(), false);
  EXPECT_EQ(short_error_of([&] { value_and_grad(model, loss); }),
            "value_and_grad: no parameter of Affine is trained\nhint: freeze fewer of them");
}

TEST(ValueAndGrad, OfALossWithoutTheModelIsRefused) {
  auto model = Affine::make(1);
  const auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  const auto copy = model;  // shares the arrays, so it counts
  EXPECT_FALSE(value_and_grad(model, [&](const auto&) { return mean_all(copy(x)); }).gradients.bias.empty());
  auto other = model;
  other.weight = model.weight * 2;
  other.bias = model.bias * 2;
  EXPECT_EQ(short_error_of([&] { value_and_grad(model, [&](const auto&) { return mean_all(other(x)); }); }),
            "value_and_grad: the loss does not depend on any of the 2 trained parameters of "
            "Affine\nhint: was the model copied or cast before? Compute the loss from the "
            "model that the function is given");
}

// loss = mean((scale·(x·w + b) - y)²): dL/dw = 2/n · scale · (error)ᵀ·x, dL/db = 2/n · scale · sum error.
TEST(ValueAndGrad, OfTwoParametersByHand) {
  auto model = Affine::make(1);
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  auto y = random_normal(Key::from_seed(3), 0, 1, Dim<Out>{2}, Dim<Batch>{4});
  auto [value, gradients] =
      value_and_grad(model, [&](const Affine& m) { return mean_all(square(m(x) - y)); });
  auto prediction = at(model(x));
  auto error = [&](auto n, auto o) { return static_cast<double>(prediction(n, o)) - at(y)(o, n); };
  double loss = 0;
  for (int n = 0; n < 4; ++n)
    for (int o = 0; o < 2; ++o) loss += error(n, o) * error(n, o) / 8;
  EXPECT_NEAR(value.item(), loss, 1e-5);
  expect_each(gradients.weight, {2, 3}, [&](auto o, auto i) {
    double g = 0;
    for (int n = 0; n < 4; ++n) g += 2.0 / 8 * 0.5 * error(n, o) * at(x)(n, i);
    return g;
  });
  expect_each(gradients.bias, {2}, [&](auto o) {
    double g = 0;
    for (int n = 0; n < 4; ++n) g += 2.0 / 8 * 0.5 * error(n, o);
    return g;
  });
  EXPECT_EQ(gradients.scale, 0.5);  // what is no parameter is copied
}

TEST(ValueAndGrad, ZerosForWhatIsNotUsedAndModelIsUntouched) {
  auto model = Affine::make(1);
  auto before = model.weight.to_vector();
  auto gradients = value_and_grad(model, [](const Affine& m) { return total(m.bias); }).gradients;
  expect_each(gradients.weight, {2, 3}, [](auto...) { return 0; }, 0);
  expect_each(gradients.bias, {2}, [](auto...) { return 1; }, 0);
  EXPECT_EQ(model.weight.to_vector(), before);
}

TEST(ValueAndGrad, StopGradient) {
  auto model = Affine::make(1);
  auto gradients =
      value_and_grad(model, [](const Affine& m) { return total(m.bias * stop_gradient(m.bias)); }).gradients;
  EXPECT_TRUE(same_bits(gradients.bias, model.bias));
}

TEST(Remat, SameBitsWithDropoutInside) {
  auto model = Affine::make(1);
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  auto key = Key::from_seed(9);
  int calls = 0;
  auto loss = [&](bool again) {
    return value_and_grad(model, [&](const Affine& m) {
      auto body = [m, count = &calls, key](const Named<Batch, In>& h) {
        ++*count;
        return dropout(tanh(rename<Out, In>(slice<Out>(m(h), 0, 2))), 0.4, key) * 3;
      };
      auto h = slice<In>(x, 0, 3) * 1.5;
      if (again) return total(square(remat(body, h)));
      return total(square(body(h)));
    });
  };
  auto plain = loss(false);
  EXPECT_EQ(calls, 1);
  auto repeated = loss(true);
  EXPECT_EQ(calls, 3);  // once forward, once more backward
  EXPECT_TRUE(same_bits(plain.value, repeated.value));
  EXPECT_TRUE(same_bits(plain.gradients.weight, repeated.gradients.weight));
  EXPECT_TRUE(same_bits(plain.gradients.bias, repeated.gradients.bias));
}

// The backward pass comes after the function, with its locals, is gone.
TEST(Remat, OwnsWhatItCaptures) {
  auto model = Affine::make(1);
  const auto forward = [](const Affine& m, const Named<Out>& x) {
    const auto factor = m.bias * 2;
    return remat([factor](const Named<Out>& h) { return tanh(h * factor); }, x);
  };
  const auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Out>{2});
  const auto again = value_and_grad(model, [&](const Affine& m) { return total(forward(m, x)); });
  const auto plain = value_and_grad(model, [&](const Affine& m) { return total(tanh(x * (m.bias * 2))); });
  EXPECT_TRUE(same_bits(again.gradients.bias, plain.gradients.bias));
}

TEST(Remat, ReferencesInAClosureAreSeen) {
  double factor = 2;
  Named<In> x;
  const auto by_reference = [&](const Named<In>& h) { return h * factor; };
  const auto numbers = [factor, key = Key::from_seed(1)](const Named<In>& h) {
    return dropout(h, factor, key);
  };
  const auto tensors = [x](const Named<In>& h) { return h * x; };
  const auto nothing = [](const Named<In>& h) { return h; };
  static_assert(HoldsReferences<decltype(by_reference)> && !HoldsReferences<decltype(numbers)>);
  static_assert(!HoldsReferences<decltype(tensors)> && !HoldsReferences<decltype(nothing)>);
}

TEST(Remat, OutsideOfAGradientJustRuns) {
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<In>{3});
  EXPECT_TRUE(same_bits(remat([](const Named<In>& h) { return exp(h); }, x), exp(x)));
}

}  // namespace
}  // namespace bora
