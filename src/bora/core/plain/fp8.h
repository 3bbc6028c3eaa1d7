// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: to fp8, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/fp8.h"

namespace bora::core::plain {

/// x [rows, n] in fp8, the same turned [n, rows], and 1 / scale [1].
struct Narrow8 {
  at::Tensor y, turned, inverse;
};
/// `largest`: largest(x), or that of an array of which x is a part.
Narrow8 quantize(const at::Tensor& x, Fp8 format, const at::Tensor& largest);
/// Its largest |element| [1] in fp32, NaN if one is not finite.
at::Tensor largest(const at::Tensor& x);

}  // namespace bora::core::plain
