// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: map_parameters with a function that returns other axes
// WHY: a parameter stays a tensor of its axes; this one becomes a number.
// FIX: [](const auto& p) { return p * 0.5; }
// EXPECT-GCC: is unavailable: f\(parameter\) must return a tensor of the axes of the parameter
// EXPECT-CLANG: is unavailable: f\(parameter\) must return a tensor of the axes of the parameter
#include "axes.h"
#include "bora/named/map.h"
auto wrong(const nn::Linear<Embed, Mlp>& layer) {
  return map_parameters(layer, [](const auto& p) { return mean_all(p); });  // USER
}
