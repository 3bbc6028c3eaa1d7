// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// Which rotated dimensions turn together: i and half + i, as in most models, or 2·i and 2·i + 1 (GPT-J).
enum class RopePairs { halves, neighbours };

/// Rotary embedding of x along `dim`, by the angles of its place in `position`. cos, sin: [position, half];
/// 2·half <= size of dim, the rest is passed through. They must cover x's positions.
Array rope(const Operand& x, std::string_view position, std::string_view dim, const Array& cos,
           const Array& sin, RopePairs pairs = RopePairs::halves);

}  // namespace bora::core
