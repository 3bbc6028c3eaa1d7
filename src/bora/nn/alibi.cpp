// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/alibi.h"

#include <cmath>

namespace bora::nn {

std::vector<float> alibi_slopes(std::int64_t heads, double bias_max) {
  std::int64_t power = 1;
  while (power < heads) power *= 2;
  const auto step = static_cast<float>(bias_max / static_cast<double>(power));
  const auto slope = [&](std::int64_t j) { return 1 / std::exp2(static_cast<float>(j) * step); };
  std::vector<float> out;
  if (power == heads)
    for (std::int64_t j = 1; j <= heads; ++j) out.push_back(slope(j));
  for (const std::int64_t first : {2, 1})
    for (std::int64_t j = first; j <= power && std::ssize(out) < heads; j += 2) out.push_back(slope(j));
  return out;
}

}  // namespace bora::nn
