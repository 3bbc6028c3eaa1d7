// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: rotary embedding, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <utility>

#include "bora/core/rope.h"

namespace bora::core::autograd {

/// x [batch, position, heads, dim]; cos, sin [position, half].
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, RopePairs pairs);

/// Whether the device of x has a kernel for it.
bool turns_on_a_device(const at::Tensor& x);
/// Of two arrays of one type on such a device, by one kernel; so are their gradients.
std::pair<at::Tensor, at::Tensor> rope_of_both(const at::Tensor& x, const at::Tensor& y,
                                               const at::Tensor& cos, const at::Tensor& sin, RopePairs pairs);

}  // namespace bora::core::autograd
