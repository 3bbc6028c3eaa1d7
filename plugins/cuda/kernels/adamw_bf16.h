// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/adamw_step.h"
#include "bora/core/device_lists.h"
#include "numbers.h"

namespace bora::cuda {

/// As adamw.h, with moments in bf16, which chance rounds: kernels::Rounding.
void adamw_bf16(const kernels::AdamW& step, std::int64_t count, const kernels::SteppedBf16* arrays,
                Stream stream);

}  // namespace bora::cuda
