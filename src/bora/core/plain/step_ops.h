// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as step_ops.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/square_sum.h"

namespace bora::core::plain {

/// p, mean and square change in place.
void adamw(const kernels::AdamW& step, const at::Tensor& p, const at::Tensor& gradient,
           const at::Tensor& mean, const at::Tensor& square);
float max_abs(const at::Tensor& x);
void add_squares(kernels::SquareSum& sum, const at::Tensor& x);
std::int64_t first_non_finite(const at::Tensor& x);

}  // namespace bora::core::plain
