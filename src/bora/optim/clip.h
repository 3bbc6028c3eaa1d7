// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>

#include "bora/core/array.h"

namespace bora::optim {

/// Euclidean norm over all arrays together: squares are summed per array over fixed chunks, then in the order
/// of the arrays, in double. Empty arrays count as zeros.
double global_norm(std::span<const core::Array> arrays);

/// min(1, max_norm / norm): what gradients of that norm are multiplied with. 1 without a maximum (nothing, or
/// 0).
double clip_factor(double norm, std::optional<double> max_norm);

}  // namespace bora::optim
