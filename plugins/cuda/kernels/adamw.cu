// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw.h"

namespace bora::cuda {
namespace {

// As core/kernels/cpu/adamw.cpp, which fuses the same products and sums.
struct Update {
  static constexpr int threads = 256;
  std::int64_t n;
  kernels::AdamW s;
  float* parameter;
  const float* gradient;
  float* mean;
  float* square;
  Bf16* copy;
  bool well;

  __device__ float updated(float p, float grad, float& m, float& v) const {
    const float g = grad * s.gradient_scale;
    m = fmaf(m, s.beta1, g * (1 - s.beta1));
    v = fmaf(v, s.beta2, g * g * (1 - s.beta2));
    float unbiased = m * (1 / s.correction1);
    if (s.nesterov) unbiased = fmaf(m, s.beta1 / s.correction1_next, g * ((1 - s.beta1) / s.correction1));
    const float root = sqrtf(v * (1 / s.correction2));
    const float step = unbiased / (root + s.epsilon);
    return fmaf(-s.learning_rate, fmaf(s.weight_decay, p, step), p);
  }

  __device__ void operator()() const {
    const std::int64_t i = (block() * threads + thread()) * kPack;
    if (i >= n) return;
    float p[kPack], g[kPack], m[kPack], v[kPack];
    load(parameter, i, n, well, p);
    load(gradient, i, n, well, g);
    load(mean, i, n, well, m);
    load(square, i, n, well, v);
    for (int j = 0; j < kPack; ++j) p[j] = updated(p[j], g[j], m[j], v[j]);
    store(p, parameter, i, n, well);
    store(m, mean, i, n, well);
    store(v, square, i, n, well);
    if (copy != nullptr) store(p, copy, i, n, well);
  }
};

}  // namespace

void adamw(std::int64_t n, const kernels::AdamW& step, float* parameter, const float* gradient, float* mean,
           float* square, Bf16* copy, Stream stream) {
  const bool well = packs_lie_well(0, parameter, gradient, mean, square, copy);
  launch(Update{n, step, parameter, gradient, mean, square, copy, well},
         blocks_for(n, Update::threads * kPack), 0, stream);
}

}  // namespace bora::cuda
