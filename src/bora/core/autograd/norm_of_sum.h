// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: a sum and the norm of its rows by one kernel of a device.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace bora::core::autograd {

struct NormOfSum {
  at::Tensor sum, y;
};
/// Of left + right [rows, n], contiguous, f32 or bf16, on a device with kernels of both norms: an RMS norm, or
/// where `centred` a layer norm.
NormOfSum norm_of_sum(const at::Tensor& left, const at::Tensor& right,
                      const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                      bool centred, double eps);

}  // namespace bora::core::autograd
