// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: rows of tables, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bora::core::autograd {

/// Of table [height, width] the rows [places] (i64), as [places, width]. Its gradient is their row_sums.
at::Tensor embedding(const at::Tensor& table, const at::Tensor& rows);
/// x [places, width] added up by rows [places] (i64) of [height, width], in an order that the rows alone say.
at::Tensor row_sums(const at::Tensor& x, const at::Tensor& rows, std::int64_t height);

}  // namespace bora::core::autograd
