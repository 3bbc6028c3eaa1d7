// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cmath>
#include <cstdint>

namespace bora::nn {

/// What an adapter is, beside the sizes of its linear map.
struct LoraShape {
  std::int64_t rank = 8;
  double alpha = 8;              ///< the low-rank path is scaled by alpha / rank
  bool rank_stabilized = false;  ///< by alpha / sqrt(rank) instead (Kalajdzievski 2023)
  double dropout = 0;            ///< of what the path is given, while training

  double scale() const {
    const auto r = static_cast<double>(rank);
    return alpha / (rank_stabilized ? std::sqrt(r) : r);
  }
  bool operator==(const LoraShape&) const = default;
};

}  // namespace bora::nn
