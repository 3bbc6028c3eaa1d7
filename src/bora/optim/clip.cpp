// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/clip.h"

#include <cmath>

#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/step_ops.h"

namespace bora::optim {

std::vector<Squares> sums_of_squares(std::span<const core::Array> arrays) {
  std::vector<Squares> out;
  for (const core::Array& array : arrays) {
    if (array.empty()) {
      out.emplace_back();
      continue;
    }
    const float largest = core::max_abs(array);
    kernels::SquareSum sum(largest);
    if (std::isfinite(largest)) core::add_squares(sum, array);
    out.push_back({std::isfinite(largest) ? sum.value() : static_cast<double>(largest), array.numel()});
  }
  return out;
}

double global_norm(std::span<const Squares> squares) {
  double sum = 0;
  for (const Squares& s : squares) sum += s.sum;
  return std::sqrt(sum);
}

double global_norm(std::span<const core::Array> arrays) { return global_norm(sums_of_squares(arrays)); }

double clip_factor(double norm, std::optional<double> max_norm) {
  if (!max_norm || *max_norm <= 0 || !(norm > *max_norm)) return 1;
  return *max_norm / norm;
}

}  // namespace bora::optim
