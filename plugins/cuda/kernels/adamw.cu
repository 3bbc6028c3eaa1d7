// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw.h"

#include "many.h"

namespace bora::cuda {
namespace {

struct AdamWItem : kernels::Stepped {
  bool well;
};

// As core/kernels/cpu/adamw.cpp, which fuses the same products and sums.
struct Update {
  static constexpr int threads = 256;
  static constexpr std::int64_t each = threads * kPack;
  Many<AdamWItem, each> arrays;
  kernels::AdamW s;

  __device__ float updated(float p, float grad, float weight_decay, float& m, float& v) const {
    const float g = grad * s.gradient_scale;
    m = fmaf(m, s.beta1, g * (1 - s.beta1));
    v = fmaf(v, s.beta2, g * g * (1 - s.beta2));
    float unbiased = m * (1 / s.correction1);
    if (s.nesterov) unbiased = fmaf(m, s.beta1 / s.correction1_next, g * ((1 - s.beta1) / s.correction1));
    const float root = sqrtf(v * (1 / s.correction2));
    const float step = unbiased / (root + s.epsilon);
    return fmaf(-s.learning_rate, fmaf(weight_decay, p, step), p);
  }

  __device__ void operator()() const {
    const int which = arrays.mine();
    const AdamWItem& a = arrays.items[which];
    const std::int64_t i = arrays.begin(which) + thread() * kPack;
    if (i >= a.n) return;
    float p[kPack], g[kPack], m[kPack], v[kPack];
    load(a.parameter, i, a.n, a.well, p);
    load(a.gradient, i, a.n, a.well, g);
    load(a.mean, i, a.n, a.well, m);
    load(a.square, i, a.n, a.well, v);
    for (int j = 0; j < kPack; ++j) p[j] = updated(p[j], g[j], a.weight_decay, m[j], v[j]);
    store(p, a.parameter, i, a.n, a.well);
    store(m, a.mean, i, a.n, a.well);
    store(v, a.square, i, a.n, a.well);
    if (a.copy != nullptr) store(p, static_cast<Bf16*>(a.copy), i, a.n, a.well);
  }
};

}  // namespace

void adamw(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) {
    const kernels::Stepped& a = arrays[i];
    return AdamWItem{
        a, packs_lie_well(0, a.parameter, a.gradient, a.mean, a.square, static_cast<Bf16*>(a.copy))};
  };
  for_many<Update, AdamWItem>(count, item, 0, stream, step);
}

}  // namespace bora::cuda
