// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: 16-bit floats are computed in fp32 and rounded once, as our kernels do.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::plain {

/// x in fp32 if it is bf16 or f16.
inline at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x;
}

}  // namespace bora::core::plain
