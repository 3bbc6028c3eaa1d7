// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: products in fp8 (core/fp8.h).
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// Whether a [m, k] times the turned `weight` [n, k] is computed in fp8: this thread is in an Fp8Scope, both are bf16
/// on a device, and their sizes are multiples of 16. The first of other sizes is told.
bool takes_fp8(const at::Tensor& a, const at::Tensor& weight);

/// What scales shards: the largest |elements| of the whole arrays, so that all lanes and workers scale them alike.
struct WholeLargest;

/// An array whose shards are multiplied: this worker's (one for each lane), and who has the others.
struct Shards {
  std::span<const at::Tensor> here;
  std::vector<Collectives*> workers;
};
/// Found now, by all workers together; that of gradients is found in the backward pass, see measured().
std::shared_ptr<const WholeLargest> whole_largest(const Shards& a, const Shards& weight);
/// y, all results of such products that this worker has; `workers` have the others. When the gradient of y comes back, its
/// largest |element| is found before the products need it.
at::Tensor measured(const at::Tensor& y, const WholeLargest& whole, std::span<Collectives* const> workers);

/// That product, of which the results are pieces, as JointMatmul in device_matmul.cpp: `differentiated` are `count`
/// weights [n, k], then their biases [n] if there is a `bias`; `weight` and `bias` are all values together.
std::vector<at::Tensor> fp8_product(const at::Tensor& a, at::TensorList differentiated, std::int64_t count,
                                    const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                                    const WholeLargest* whole = nullptr);

}  // namespace bora::core::autograd
