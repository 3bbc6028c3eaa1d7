// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: products in fp8 (core/fp8.h).
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace bora::core::autograd {

/// Whether a [m, k] times the turned `weight` [n, k] is computed in fp8: this thread is in an Fp8Scope, both are bf16
/// on a device, and their sizes are multiples of 16. The first of other sizes is told.
bool takes_fp8(const at::Tensor& a, const at::Tensor& weight);

/// That product, of which the results are pieces, as JointMatmul in device_matmul.cpp: `differentiated` are `count`
/// weights [n, k], then their biases [n] if there is a `bias`; `weight` and `bias` are all values together.
std::vector<at::Tensor> fp8_product(const at::Tensor& a, at::TensorList differentiated, std::int64_t count,
                                    const at::Tensor& weight, const std::optional<at::Tensor>& bias);

}  // namespace bora::core::autograd
