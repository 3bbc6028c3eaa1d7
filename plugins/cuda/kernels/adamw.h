// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/adamw.h"
#include "numbers.h"

namespace bora::cuda {

/// kernels::adamw of n elements, in place. `copy` gets the new parameter in bf16; null: there is none.
void adamw(std::int64_t n, const kernels::AdamW& step, float* parameter, const float* gradient, float* mean,
           float* square, Bf16* copy, Stream stream);

}  // namespace bora::cuda
