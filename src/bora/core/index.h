// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

// Indices that lie on a device are not looked at: the host would have to wait for them.

/// Elements of x at `indices` along `axis`. The indices' axes replace `axis`; axes that x and the indices
/// share are matched by name (take along an axis). `out` is the order of the result's axes. An index outside
/// [0, size) is an error that names the axis, the index and the size. The backward pass adds in index order:
/// deterministic.
Array take(const Operand& x, std::string_view axis, const Operand& indices, Names out);

/// `base` with `updates` added at `indices` along `axis`; duplicates add up in the order of the indices.
Array scatter_add(const Operand& base, std::string_view axis, const Operand& indices, const Operand& updates);

/// 1 where the index equals the position along the new last axis `axis`, else 0. Refuses an index outside.
Array one_hot(const Operand& indices, std::string_view axis, std::int64_t size, DType dtype = DType::f32);

}  // namespace bora::core
