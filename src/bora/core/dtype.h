// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bora::core {

/// Element types. Sizes, dtypes and devices are values; only axes are types.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i64, i32, u8, boolean };

std::string_view name(DType dtype);        ///< "f32", "bf16", ...
DType parse_dtype(std::string_view text);  ///< also "float32", "bfloat16", "fp32"; Config error otherwise
std::size_t bytes(DType dtype);
bool is_floating(DType dtype);

template <class T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

}  // namespace bora::core
