// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: map_parameters of two models with a function that returns other axes
// WHY: a parameter stays a tensor of its axes; this one becomes a number.
// FIX: [](const auto& p, const auto& g) { return p - 0.1 * g; }
// EXPECT-GCC: is unavailable: f\(parameter, other\) must return a tensor of the axes of the parameter
// EXPECT-CLANG: is unavailable: f\(parameter, other\) must return a tensor of the axes of the parameter
#include "axes.h"
#include "bora/named/map.h"
struct Model {
  std::vector<nn::Linear<Embed, Mlp>> layers;
  using fields = Fields<&Model::layers>;
};
auto wrong(const Model& model, const Model& gradients) {
  const auto f = [](const auto& p, const auto& g) { return mean_all(p * g); };
  return map_parameters(model, gradients, f);  // USER
}
