// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"

namespace bora::core {

/// Contracts the axes that a and b share and `out` lacks; shared axes that `out` has are batch axes; the rest
/// are kept. Lowers to one matrix product (batched where there are batch axes); views where strides allow,
/// else one copy of the operand concerned.
Array dot(const Operand& a, const Operand& b, Names out);

/// dot(x, weight) + bias, the bias added to the fresh product. `bias` (may be empty) has the axes of the
/// weight that are kept, in the weight's order.
Array linear(const Operand& x, const Operand& weight, const Array& bias, Names out);

}  // namespace bora::core
