// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: normalisation of rows, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace bora::core::autograd {

/// x [rows, n]; weight, bias [n] or nothing.
at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight, double eps);
at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps);

/// Floats for the sums of a device's backward pass.
at::Tensor norm_room(const at::Tensor& x, const at::Tensor& dweight, const at::Tensor& dbias);

}  // namespace bora::core::autograd
