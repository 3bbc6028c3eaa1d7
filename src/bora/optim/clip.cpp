// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/clip.h"

#include <cmath>

#include "bora/core/kernels/reduce.h"

namespace bora::optim {

double global_norm(std::span<const core::Array> arrays) {
  double squares = 0;
  for (const core::Array& array : arrays) {
    if (!array.empty()) squares += kernels::sum_of_squares(array.numel(), array.data<float>());
  }
  return std::sqrt(squares);
}

double clip_factor(double norm, std::optional<double> max_norm) {
  if (!max_norm || *max_norm <= 0 || !(norm > *max_norm)) return 1;
  return *max_norm / norm;
}

}  // namespace bora::optim
