// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/embedding.h"

#include <cmath>

namespace bora::nn {

double rounded(double value, core::DType dtype) {
  using core::DType;
  if (dtype == DType::f64 || !core::is_floating(dtype)) return value;
  const int digits = dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

}  // namespace bora::nn
