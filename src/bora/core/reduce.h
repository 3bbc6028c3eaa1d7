// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>
#include <utility>

#include "bora/core/array.h"

namespace bora::core {

enum class Reduction { sum, mean, max, min, var, logsumexp, any, all };
std::string_view name(Reduction op);

/// Reduces the axes `over`; the others keep their order. `var` is biased (divides by n).
Array reduce(Reduction op, const Operand& x, Names over);
/// Index of the first largest element along `axis` (i64).
Array argmax(const Operand& x, std::string_view axis);

/// Over one or several axes together (attention to height x width).
Array softmax(const Operand& x, Names over);
Array log_softmax(const Operand& x, Names over);
Array cumsum(const Operand& x, std::string_view axis);

/// The k largest along `axis`, descending, ties by lower index first: values and i64 indices; the axis stays
/// in its place with size k.
std::pair<Array, Array> top_k(const Operand& x, std::string_view axis, std::int64_t k);
/// Sorted along `axis` (stable): values and i64 indices.
std::pair<Array, Array> sort(const Operand& x, std::string_view axis, bool descending = false);

}  // namespace bora::core
