// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/rope.h"
#include "numbers.h"

namespace bora::cuda {

/// kernels::rope with elements of T, float or Bf16; y may be x if their strides are the same.
template <class T>
void rope(const kernels::RopeShape& shape, const T* x, const float* cos, const float* sin, T* y, bool inverse,
          Stream stream);

}  // namespace bora::cuda
