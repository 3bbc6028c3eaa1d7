// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"

namespace bora::core {

// In-place work on buffers that one owner holds (key/value caches); not recorded, not for model code.

/// A new array like x with dimension `dim` of size `size`; contents not set.
Array widened_along(const Array& x, int dim, std::int64_t size);
/// Copies `from` into positions [start, start + from.size(dim)) of dimension `dim`.
void write_slice(Array& into, int dim, std::int64_t start, const Array& from);
/// A view of positions [start, start + length) of dimension `dim`.
Array read_slice(const Array& x, int dim, std::int64_t start, std::int64_t length);

}  // namespace bora::core
