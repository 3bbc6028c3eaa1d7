// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: rotary embedding, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/rope.h"

namespace bora::core::autograd {

/// x [batch, position, heads, dim]; cos, sin [position, half].
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, RopePairs pairs);

}  // namespace bora::core::autograd
