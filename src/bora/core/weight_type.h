// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>

namespace bora::core {

/// What the values of a weight are kept as.
enum class WeightType : std::uint8_t {
  f32,
  bf16,  ///< rounded to nearest even
  int8,  ///< times an fp32 scale for each output: its greatest magnitude is 127
};
std::string_view name(WeightType type);  ///< "f32", "bf16", "int8"
/// Usage error in the name of `who` for another word.
WeightType parse_weight_type(std::string_view who, std::string_view text);

}  // namespace bora::core
