// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::optim {

/// Sum of the squares of an array's elements, and how many they are. An empty array counts as nothing.
struct Squares {
  double sum = 0;
  std::int64_t elements = 0;
};

/// For each array, with bits that do not depend on how arrays are cut (mesh/square_sums.h): where ranks hold
/// shards of them, theirs is the function to use.
using SquaresOf = std::function<std::vector<Squares>(std::span<const core::Array>)>;
std::vector<Squares> sums_of_squares(std::span<const core::Array> arrays);

/// Euclidean norm over all arrays together: squares are summed per array, then in the order of the arrays.
double global_norm(std::span<const Squares> squares);
double global_norm(std::span<const core::Array> arrays);

/// min(1, max_norm / norm): what gradients of that norm are multiplied with. 1 without a maximum (nothing, or
/// 0).
double clip_factor(double norm, std::optional<double> max_norm);

}  // namespace bora::optim
