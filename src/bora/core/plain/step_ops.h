// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as step_ops.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/chance.h"

namespace bora::core::plain {

/// p, mean and square change in place.
void adamw(const kernels::AdamW& step, const at::Tensor& p, const at::Tensor& gradient,
           const at::Tensor& mean, const at::Tensor& square);
/// The same with both moments in bf16; x rounded by chance (kernels::Rounding).
void adamw(const kernels::AdamW& step, const at::Tensor& p, const at::Tensor& gradient,
           const at::Tensor& mean, const at::Tensor& square, const kernels::Rounding& rounding);
void by_chance(const at::Tensor& into, const at::Tensor& x, kernels::Half half,
               const kernels::Rounding& rounding);
at::Tensor max_abs(const at::Tensor& x);
at::Tensor square_numbers(const at::Tensor& x, const at::Tensor& largest);
std::int64_t first_non_finite(const at::Tensor& x);

}  // namespace bora::core::plain
