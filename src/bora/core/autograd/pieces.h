// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: libtorch's own ops on pieces of arrays that do not depend on the number of threads.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like_ops.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>

#include "bora/core/kernels/cpu/threads.h"

namespace bora::core {

/// Below at::internal::GRAIN_SIZE, so that at::sum of one piece never splits.
inline constexpr std::int64_t kPiece = 16384;

/// Whether what is made of x has a gradient.
inline bool recorded(const at::Tensor& x) { return x.requires_grad() && at::GradMode::is_enabled(); }

/// Elements not set, contiguous.
inline at::Tensor new_like(const at::Tensor& x) {
  return at::_ops::empty_like::call(x, {}, {}, {}, {}, at::MemoryFormat::Contiguous);
}

/// Calls body(first, count) on pieces of `rows` rows of `width` elements, cut at places that do not depend on
/// threads: torch's kernels treat the end of what a thread was given by other instructions than the middle.
template <class Body>
void in_pieces(std::int64_t rows, std::int64_t width, const Body& body) {
  kernels::for_chunks(rows, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, width)),
                      [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
}

}  // namespace bora::core
