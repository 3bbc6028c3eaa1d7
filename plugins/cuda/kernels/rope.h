// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/rope.h"
#include "numbers.h"

namespace bora::cuda {

/// kernels::rope of one or two arrays with elements of T, float or Bf16; y may be x if their strides are the same.
template <class T>
void rope(std::int64_t count, const kernels::Turned* arrays, const float* cos, const float* sin, bool inverse,
          Stream stream);

}  // namespace bora::cuda
