// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what the dynamic ops check and compute about names, beside Space.
#pragma once
#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

using NameList = std::vector<std::string_view>;
using Dims = std::vector<std::int64_t>;

/// Positions of `axes` in x, in the order given; errors on an unknown or repeated axis.
Dims dims_of(std::string_view op, const Operand& x, Names axes);
/// `names` without those in `axes`, in order.
NameList without(Names names, Names axes);
/// `a`, then those of `b` that `a` lacks.
NameList joined(Names a, Names b);
bool within(Names inner, Names outer);

/// An error unless `out` holds the axes `have`, each once, in any order.
void require_same_axes(std::string_view op, Names have, Names out);
/// An error if x has `axis` already.
void require_new(std::string_view op, const Operand& x, std::string_view axis);

/// As many sizes as names, none negative, no name twice.
void check_shape(std::string_view op, const Shape& shape);

void require_floating(std::string_view op, const Operand& x);
/// i64 or i32.
void require_indices(std::string_view op, const Operand& x);
/// Anything but bool.
void require_number(std::string_view op, const Operand& x);
void require_boolean(std::string_view op, const Operand& x);
void require_same_dtype(std::string_view op, const Operand& a, const Operand& b);

}  // namespace bora::core
