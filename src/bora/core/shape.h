// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// The same axes in another order (a stride change).
Array rearrange(const Operand& x, Names to);
/// Adds the axes of `to` that x lacks, repeating x along them; order as in `to`.
Array broadcast(const Operand& x, const Shape& to);
/// Several axes into one, in the order given (the last varies fastest). The new axis stands where the first
/// stood.
Array flatten(const Operand& x, Names axes, std::string_view into);
/// One axis into several; their sizes must multiply to its size.
Array unflatten(const Operand& x, std::string_view axis, const Shape& into);

/// All with the same axes; sizes may differ along `axis` only. Order as in the first.
Array concatenate(std::span<const Operand> xs, std::string_view axis);
/// All with the same axes and sizes; the new axis comes first.
Array stack(std::span<const Operand> xs, std::string_view axis);
/// Pieces of the given sizes along `axis`, which must add up to its size.
std::vector<Array> split(const Operand& x, std::string_view axis, Sizes sizes);
/// Elements [start, start + length) along `axis`.
Array slice(const Operand& x, std::string_view axis, std::int64_t start, std::int64_t length);
/// The same with a start known only at run time (a scalar integer array).
Array dynamic_slice(const Operand& x, std::string_view axis, const Array& start, std::int64_t length);

}  // namespace bora::core
