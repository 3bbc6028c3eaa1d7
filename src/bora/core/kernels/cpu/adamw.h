// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/adamw_step.h"

namespace bora::kernels {

/// The step `s` over n elements.
void adamw(std::int64_t n, const AdamW& s, float* p, const float* grad, float* m, float* v);

}  // namespace bora::kernels
