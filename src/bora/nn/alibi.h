// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <vector>

namespace bora::nn {

/// The slopes of attention with linear biases (Press et al. 2022), a head each: 2^(-bias_max · j / heads) for
/// j = 1, 2, ... Where the number of heads is no power of two, every second one of those for the next power and
/// then the rest, as many as there are heads: the order of MPT.
std::vector<float> alibi_slopes(std::int64_t heads, double bias_max);

}  // namespace bora::nn
