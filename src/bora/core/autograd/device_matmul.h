// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: matrix products on a device.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "bora/core/autograd/matmul.h"

namespace bora::core::autograd {

/// a · b (+ bias) by libtorch's products, of matrices or of batches of them; not recorded by themselves.
at::Tensor device_product(const at::Tensor& a, const at::Tensor& b,
                          const std::optional<at::Tensor>& bias = {});
/// In another type than the factors': rounded once.
at::Tensor device_product_as(at::ScalarType type, const at::Tensor& a, const at::Tensor& b);

/// As matmul, for x on_a_device(): libtorch's products, the bias added by the same one.
at::Tensor device_matmul(const at::Tensor& a, const Factor& b, const std::optional<Factor>& bias);

/// a [m, k] times the transposed of each of `weights` [n, k], whose values lie in one memory, one behind the other:
/// one product, of which the results are pieces. `biases` [n], or none: the same of them. Empty where they do not
/// lie so.
std::vector<at::Tensor> joint_matmul(const at::Tensor& a, std::span<const Factor> weights,
                                     std::span<const Factor> biases);

}  // namespace bora::core::autograd
