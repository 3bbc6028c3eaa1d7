// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"

namespace bora::core {

// These have kernels of their own, forward and backward. On other devices or dtypes they are composed of
// plain ops; the values agree within rounding.

/// x / sqrt(mean(x²) + eps) [· weight] over the axes `over`. `weight` (axes `over`) may be empty.
Array rms_norm(const Operand& x, const Array& weight, Names over, double eps);
/// (x - mean) / sqrt(var + eps) [· weight] [+ bias] over the axes `over`.
Array layer_norm(const Operand& x, const Array& weight, const Array& bias, Names over, double eps);

}  // namespace bora::core
