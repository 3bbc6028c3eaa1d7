// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cmath>

#include "bora/core/adamw_step.h"
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

}  // namespace bora::cuda
