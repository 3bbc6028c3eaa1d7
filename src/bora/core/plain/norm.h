// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/norm.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace bora::core::plain {

/// x [rows, n]; weight, bias [n] or nothing.
at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight, double eps);
at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps);

}  // namespace bora::core::plain
