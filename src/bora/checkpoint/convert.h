// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bora/core/dtype.h"

namespace bora::checkpoint {

/// IEEE half precision; rounds to nearest even, overflow to infinity, NaN stays NaN.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

/// Widens or rounds `bytes` (little endian, of a floating dtype, any alignment) to fp32. `who` begins the
/// error (Unsupported for other dtypes).
void to_floats(core::DType dtype, std::span<const std::byte> bytes, std::span<float> out,
               std::string_view who);

/// The same for bytes of a mapped file (base/map_guard.h), on all cores. Corruption where the file has become shorter.
void mapped_to_floats(core::DType dtype, std::span<const std::byte> bytes, std::span<float> out,
                      std::string_view who);

/// The reverse: `out` holds the values in `dtype`. Unsupported for finite values beyond those of f16.
void from_floats(std::span<const float> values, core::DType dtype, std::span<std::byte> out,
                 std::string_view who);

}  // namespace bora::checkpoint
