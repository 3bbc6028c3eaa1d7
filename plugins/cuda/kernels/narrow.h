// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/device_lists.h"
#include "numbers.h"

namespace bora::cuda {

/// to = from rounded to bf16, of each of `count` arrays, and its largest |element|.
void narrow(std::int64_t count, const kernels::Narrowed* arrays, Stream stream);

}  // namespace bora::cuda
