// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/slots.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bora::core::plain {

/// Of choices [tokens..., choice]: the place of each visit, i32, and the rows of each expert and part,
/// i32 [expert · part] in host memory, for which the host waits. A choice outside of [0, experts) is no row.
struct Places {
  at::Tensor place, rows;
};
Places places(const at::Tensor& choices, std::int64_t experts, std::int64_t parts);
at::Tensor dispatch(const at::Tensor& x, const at::Tensor& place);
at::Tensor combine(const at::Tensor& y, const at::Tensor& weights, const at::Tensor& place);

}  // namespace bora::core::plain
