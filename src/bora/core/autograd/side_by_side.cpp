// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/side_by_side.h"

namespace bora::core::autograd {

at::Tensor joined_view(at::TensorList pieces, std::int64_t dim) {
  const at::Tensor& first = pieces.front();
  const auto d = dim < 0 ? dim + first.dim() : dim;
  auto sizes = first.sizes().vec();
  sizes[d] = 0;
  for (const auto& x : pieces) {
    if (x.dim() != first.dim() || !x.is_alias_of(first) || x.scalar_type() != first.scalar_type() ||
        x.strides() != first.strides() ||
        x.storage_offset() != first.storage_offset() + sizes[d] * first.stride(d))
      return {};
    for (std::int64_t i = 0; i < first.dim(); ++i)
      if (i != d && x.size(i) != sizes[i]) return {};
    sizes[d] += x.size(d);
  }
  return first.detach().as_strided(sizes, first.strides(), first.storage_offset());
}

}  // namespace bora::core::autograd
