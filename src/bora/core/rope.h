// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// Half-split rotary embedding of x along `dim`, by the angles of its place along `position`.
/// cos, sin: [position, half]; 2·half <= size of dim, the rest is passed through. They must cover x's
/// positions.
Array rope(const Operand& x, std::string_view position, std::string_view dim, const Array& cos,
           const Array& sin);

}  // namespace bora::core
