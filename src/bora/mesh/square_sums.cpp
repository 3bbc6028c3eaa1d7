// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/square_sums.h"

#include <cmath>

#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/step_ops.h"

namespace bora::mesh {
namespace {

template <class T>
std::vector<T> gathered(core::Collectives& workers, std::span<const T> mine) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
  return all;
}

void take_largest(core::Collectives& workers, std::vector<float>& largest) {
  const auto all = gathered(workers, std::span<const float>(largest));
  for (std::size_t k = 0; k < all.size(); ++k) {
    float& most = largest[k % largest.size()];
    if (!(all[k] <= most)) most = std::isnan(most) ? most : all[k];  // NaN stays
  }
}

}  // namespace

std::vector<double> sums_of_squares(std::span<const core::Array> arrays,
                                    std::span<const BlockHolders> holders) {
  const std::size_t n = arrays.size();
  std::vector<float> largest(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!arrays[i].empty()) largest[i] = core::max_abs(arrays[i]);
  }
  for (const auto& h : holders) take_largest(*h.workers, largest);

  std::vector<kernels::SquareSum> sums;
  for (std::size_t i = 0; i < n; ++i) {
    auto& sum = sums.emplace_back(largest[i]);
    if (!arrays[i].empty() && std::isfinite(largest[i])) core::add_squares(sum, arrays[i]);
  }
  for (const auto& h : holders) {
    std::vector<kernels::SquareSum::Parts> parts;
    for (const auto& sum : sums) parts.push_back(sum.parts());
    const auto all = gathered(*h.workers, std::span<const kernels::SquareSum::Parts>(parts));
    for (std::size_t i = 0; i < n; ++i) {
      if (!h.cut[i]) continue;
      sums[i] = kernels::SquareSum(largest[i]);
      for (std::size_t k = i; k < all.size(); k += n) sums[i].add(all[k]);
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(std::isfinite(largest[i]) ? sums[i].value() : static_cast<double>(largest[i]));
  return out;
}

}  // namespace bora::mesh
