// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what a weight that is kept in fewer bytes (stored_weight.h) holds instead of its tensor.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "bora/core/array.h"
#include "bora/core/kernels/cpu/stored_matrix.h"
#include "bora/core/stored_weight.h"
#include "bora/core/torch/node.h"

namespace bora::core {

struct StoredWeight {
  WeightType type;
  int outputs;        ///< dimensions
  at::Tensor values;  ///< [outputs, inputs]
  at::Tensor scales;  ///< of int8: [outputs]

  kernels::StoredMatrix matrix() const;
};

/// Null for an array with values of its own.
inline const StoredWeight* stored(const Array& x) { return x.empty() ? nullptr : x.node()->stored.get(); }

/// An error where x is stored: this op does not read it.
void refuse_stored(std::string_view op, const Operand& x);

/// a [m, inputs] · weightᵀ, [m, outputs] in fp32.
at::Tensor stored_product(const at::Tensor& a, const StoredWeight& weight);
/// The rows that i64 `index` [n] chooses, [n, inputs] in fp32.
at::Tensor stored_rows(const StoredWeight& weight, const at::Tensor& index);

}  // namespace bora::core
