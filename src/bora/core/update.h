// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"

namespace bora::core {

// In-place work on buffers that one owner holds (key/value caches, shards); not recorded, not for model code.

/// A new array like x with dimension `dim` of size `size`; contents not set.
Array widened_along(const Array& x, int dim, std::int64_t size);
/// Copies `from` into positions [start, start + from.size(dim)) of dimension `dim`.
void write_slice(Array& into, int dim, std::int64_t start, const Array& from);
/// A view of positions [start, start + length) of dimension `dim`.
Array read_slice(const Array& x, int dim, std::int64_t start, std::int64_t length);

/// into = from, wherever each of them lies. InvalidArgument if their sizes differ.
void copy_into(Array& into, const Array& from);
/// A view of the elements from `first` on, in row-major order, of a contiguous array.
Array elements(const Array& x, std::int64_t first, Sizes sizes);
/// Whether both have their first element in the same place: who changes one changes the other.
bool share_memory(const Array& a, const Array& b);

}  // namespace bora::core
