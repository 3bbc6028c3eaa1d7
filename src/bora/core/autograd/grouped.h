// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: products of rows grouped by expert, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "bora/core/autograd/factor.h"

namespace bora::core::autograd {

/// How many rows each expert has, [expert][part]: a product for each.
using GroupedRows = std::vector<std::vector<std::int64_t>>;

/// x [slots, in], weight [experts, out, in] -> [slots, out]
at::Tensor grouped(const at::Tensor& x, const Factor& weight, const GroupedRows& rows);

}  // namespace bora::core::autograd
