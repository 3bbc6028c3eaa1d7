// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// One fused step over n elements (Loshchilov and Hutter 2019; decoupled decay):
///   g = gradient_scale · grad;  m = b1·m + (1-b1)·g;  v = b2·v + (1-b2)·g²
///   p = p - lr·( (m/c1) / (sqrt(v/c2) + eps) + wd·p )
struct AdamW {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  float correction1, correction2;  ///< 1 - beta^t, computed in double by the caller
  float gradient_scale;            ///< multiplies the gradient first (1/weight · clip factor)
  bool nesterov = false;
  float correction1_next = 1;  ///< 1 - beta1^(t+1), for nesterov
};

}  // namespace bora::kernels
