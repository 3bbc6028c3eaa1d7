// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Weights in fewer bytes, for generation: what a token costs is the reading of them.
#pragma once
#include <cstdint>

#include "bora/core/array.h"
#include "bora/core/weight_type.h"

namespace bora::core {

/// Keeps the values of `weight` [outputs..., inputs...], whose first `outputs` dimensions are outputs, as
/// `type` from here on, in all copies of the array; the fp32 ones are gone. dot, linear and linear_logits take
/// it as their right operand, with fp32 factors and sums, and `take` along its first axis reads it; what else
/// would read it is refused with an error, and so are gradients. f32 changes nothing. Errors: InvalidArgument
/// for values that are not fp32 or lie on another device; NonFinite, naming the element, for one that is not
/// finite.
void store_weight(Array& weight, int outputs, WeightType type);
/// Gives `weight` the values that store_weight would keep, in fp32: what a type costs in quality.
void round_weight(Array& weight, int outputs, WeightType type);

WeightType stored_type(const Array& weight);
/// Bytes that its values take.
std::int64_t stored_bytes(const Array& weight);

}  // namespace bora::core
