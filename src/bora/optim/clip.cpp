// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/clip.h"

#include <cmath>

#include "bora/mesh/square_sums.h"

namespace bora::optim {

std::vector<Squares> sums_of_squares(std::span<const core::Array> arrays) {
  const auto sums = mesh::sums_of_squares(arrays, {});
  std::vector<Squares> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out.push_back({sums[i], arrays[i].empty() ? 0 : arrays[i].numel()});
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
