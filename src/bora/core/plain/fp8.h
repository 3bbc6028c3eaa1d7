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
Narrow8 quantize(const at::Tensor& x, Fp8 format);

}  // namespace bora::core::plain
