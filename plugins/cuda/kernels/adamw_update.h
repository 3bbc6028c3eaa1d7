// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cmath>

#include "bora/core/adamw_step.h"
#include "largest.h"
#include "many.h"
#include "threads.h"

namespace bora::cuda {

/// The new value of an element; m and v are updated. As core/kernels/cpu/adamw.cpp, which fuses the same products and
/// sums.
__device__ inline float adamw_updated(const kernels::AdamW& s, float p, float grad, float weight_decay,
                                      float& m, float& v) {
  const float g = grad * s.gradient_scale;
  m = fmaf(m, s.beta1, g * (1 - s.beta1));
  v = fmaf(v, s.beta2, g * g * (1 - s.beta2));
  float unbiased = m * (1 / s.correction1);
  if (s.nesterov) unbiased = fmaf(m, s.beta1 / s.correction1_next, g * ((1 - s.beta1) / s.correction1));
  const float root = sqrtf(v * (1 / s.correction2));
  const float step = unbiased / (root + s.epsilon);
  return fmaf(-s.learning_rate, fmaf(weight_decay, p, step), p);
}

/// A step of many arrays, a pack for each thread. `Moments` says how they are listed, what the moments are stored as
/// (Element), and how those of the pack from element i on are rounded to it.
template <class Moments>
struct AdamWUpdate {
  using Element = typename Moments::Element;
  struct Item : Moments::Arrays {
    bool well;
  };
  static constexpr int threads = 256;
  static constexpr std::int64_t each = threads * kPack;
  Many<Item, each> arrays;
  kernels::AdamW s;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const Item& a = arrays.items[which];
    const std::int64_t i = arrays.begin(which) + thread() * kPack;
    const unsigned most = i < a.n ? stepped(a, i) : 0;
    if (a.largest != nullptr) give_largest<threads>(most, a.largest);
  }

 private:
  // The pack from element i on; the largest |element| of its copy.
  __device__ unsigned stepped(const Item& a, std::int64_t i) const {
    auto *mean = static_cast<Element*>(a.mean), *square = static_cast<Element*>(a.square);
    float p[kPack], g[kPack], m[kPack], v[kPack];
    load(a.parameter, i, a.n, a.well, p);
    load(a.gradient, i, a.n, a.well, g);
    load(mean, i, a.n, a.well, m);
    load(square, i, a.n, a.well, v);
    for (int j = 0; j < kPack; ++j) p[j] = adamw_updated(s, p[j], g[j], a.weight_decay, m[j], v[j]);
    Moments::round(a, i, m, v);
    store(p, a.parameter, i, a.n, a.well);
    store(m, mean, i, a.n, a.well);
    store(v, square, i, a.n, a.well);
    if (a.copy != nullptr) store(p, static_cast<Bf16*>(a.copy), i, a.n, a.well);
    return largest_with<Bf16>(0, p, a.n - i);
  }
};

template <class Moments>
void adamw_update(const kernels::AdamW& step, std::int64_t count, const typename Moments::Arrays* arrays,
                  Stream stream) {
  using Kernel = AdamWUpdate<Moments>;
  using Item = typename Kernel::Item;
  using Element = typename Moments::Element;
  const auto item = [&](std::int64_t i) {
    const auto& a = arrays[i];
    return Item{a, packs_lie_well(0, a.parameter, a.gradient, static_cast<Element*>(a.mean),
                                  static_cast<Element*>(a.square), static_cast<Bf16*>(a.copy))};
  };
  for_many<Kernel, Item>(count, item, kLargestBytes, stream, step);
}

}  // namespace bora::cuda
