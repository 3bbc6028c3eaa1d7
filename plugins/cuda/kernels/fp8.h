// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/fp8.h"
#include "numbers.h"

namespace bora::cuda {

// As core::DeviceKernels::Narrow8; y begins at a multiple of 8 bytes, `turned` of 16.
template <class T>
void fp8_max_abs(std::int64_t n, const T* x, float* largest, Stream stream);
template <class T>
void fp8_quantize(core::Fp8 format, std::int64_t rows, std::int64_t n, const T* x, const float* largest,
                  std::int64_t parts, std::uint8_t* y, std::uint8_t* turned, float* inverse, Stream stream);

}  // namespace bora::cuda
