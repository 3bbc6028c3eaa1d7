// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/adamw_step.h"
#include "bora/core/whole_index.h"

namespace bora::kernels {

/// The step `s` over n elements.
void adamw(std::int64_t n, const AdamW& s, float* p, const float* grad, float* m, float* v);
/// The same with moments in bf16: computed in fp32, the parameter with moments that are not rounded yet.
void adamw(std::int64_t n, const AdamW& s, float* p, const float* grad, std::uint16_t* m, std::uint16_t* v,
           const Rounding& rounding);

}  // namespace bora::kernels
