// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/grouped.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace bora::core::plain {

at::Tensor grouped(const at::Tensor& x, const at::Tensor& weight,
                   const std::vector<std::vector<std::int64_t>>& rows);

}  // namespace bora::core::plain
