// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/adamw_step.h"
#include "bora/core/device_lists.h"
#include "numbers.h"

namespace bora::cuda {

/// kernels::adamw of each of `count` lists of arrays, in place, each with its own decay in place of the step's.
void adamw(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays, Stream stream);

}  // namespace bora::cuda
