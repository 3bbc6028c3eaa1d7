// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/weight_type.h"

#include <array>
#include <cstddef>

#include "bora/base/error.h"

namespace bora::core {
namespace {

constexpr std::array<std::string_view, 3> kWeightNames{"f32", "bf16", "int8"};

}  // namespace

std::string_view name(WeightType type) { return kWeightNames.at(static_cast<std::size_t>(type)); }

WeightType parse_weight_type(std::string_view who, std::string_view text) {
  for (std::size_t i = 0; i < kWeightNames.size(); ++i)
    if (kWeightNames[i] == text) return static_cast<WeightType>(i);
  fail(ErrorKind::Usage, "{0}: --weights {1} is not one of f32, bf16, int8\nhint: bora {0} --help", who,
       text);
}

}  // namespace bora::core
