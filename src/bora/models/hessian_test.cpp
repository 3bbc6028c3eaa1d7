// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/hessian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"
#include "bora/named/grad.h"
#include "bora/nn/language_model.h"

namespace bora {
namespace {

// A model of doubles: differences of its gradients are exact enough to compare with.
template <class M>
M in_doubles(M model) {
  for (auto& p : parameters(model)) *p.array = core::cast({*p.array, p.axes}, core::DType::f64);
  return model;
}

template <class M>
M random_like(const M& model, std::uint64_t seed) {
  M out = model;
  Key key = Key::from_seed(seed);
  for (auto& p : parameters(out)) {
    const auto sizes = p.array->sizes();
    *p.array = core::random_normal(key.fold(p.path), {p.axes, sizes});
  }
  return in_doubles(out);
}

// model + step · v
template <class M>
M moved(const M& model, const M& v, double step) {
  M out = model, by = v;
  auto to = parameters(out), from = parameters(by);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const core::Array change = core::binary(core::Binary::multiply, {*from[i].array, from[i].axes}, step);
    *to[i].array =
        core::binary(core::Binary::add, {*to[i].array, to[i].axes}, {change, to[i].axes}, to[i].axes);
  }
  return out;
}

template <class M>
std::vector<double> flat(M& model) {
  std::vector<double> out;
  for (auto& p : parameters(model)) {
    const auto values = p.array->template to_vector<double>();
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

template <class M>
Named<> loss_of(const M& model) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const auto vocab = static_cast<std::int32_t>(model.shape().vocab);
  const std::array<std::int64_t, 2> sizes{2, model.shape().seq_len};
  std::vector<std::int32_t> ids, targets;
  for (std::int32_t i = 0; i < 2 * sizes[1]; ++i) {
    ids.push_back(7 * i % vocab);
    targets.push_back(7 * (i + 1) % vocab);
  }
  const core::Shape shape{names, sizes};
  const nn::TokenBatch batch{core::from_data(shape, std::span<const std::int32_t>(ids)),
                             core::from_data(shape, std::span<const std::int32_t>(targets)),
                             core::ones(shape),
                             {}};
  return Named<>::adopt(nn::LanguageModelOf<M>(model).objective(batch, std::nullopt, {.z_loss = 1e-2}).loss);
}

// Against the change of the gradient along v, relative to the whole product.
template <class M>
void expect_products(M model) {
  model = in_doubles(std::move(model));
  const M v = random_like(model, 3);
  const auto f = [](const M& m) { return loss_of(m); };
  auto got = hessian_vector_product(model, f, v);
  constexpr double kStep = 1e-5;
  M ahead = moved(model, v, kStep), behind = moved(model, v, -kStep);
  auto up = value_and_grad(ahead, f), down = value_and_grad(behind, f), here = value_and_grad(model, f);
  const auto a = flat(up.gradients), b = flat(down.gradients), product = flat(got.products);
  const auto gradients = flat(got.gradients), plain = flat(here.gradients);
  std::vector<double> wrong, wrong_gradient;
  for (std::size_t i = 0; i < a.size(); ++i) {
    wrong.push_back(product[i] - (a[i] - b[i]) / (2 * kStep));
    wrong_gradient.push_back(gradients[i] - plain[i]);
  }
  EXPECT_GT(norm(product), 0);
  EXPECT_LT(norm(wrong), 1e-4 * norm(product));
  EXPECT_LT(norm(wrong_gradient), 1e-9 * norm(plain));
}

TEST(HessianProduct, OfGpt2) {
  expect_products(gpt2::Gpt2::init({.seq_len = 8, .hidden_dim = 24, .num_layers = 2, .num_heads = 3},
                                   Dim<gpt2::Vocab>{50}, Key::from_seed(1)));
}

// Of recipes/gpt2_nano.yaml, with all its positions.
TEST(HessianProduct, OfTheRecipesGpt2) {
  expect_products(gpt2::Gpt2::init({.seq_len = 128, .hidden_dim = 128, .num_layers = 4, .num_heads = 4},
                                   Dim<gpt2::Vocab>{4096}, Key::from_seed(1)));
}

TEST(HessianProduct, OfLlama) {
  llama::Config config{
      .seq_len = 8, .hidden_dim = 24, .intermediate_dim = 40, .num_layers = 2, .num_heads = 6};
  config.num_kv_heads = 3;
  expect_products(llama::Llama::init(config, Dim<llama::Vocab>{50}, Key::from_seed(1)));
}

}  // namespace
}  // namespace bora
