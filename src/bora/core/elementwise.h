// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

enum class Unary {
  negative,
  abs,
  sign,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  square,
  sin,
  cos,
  tanh,
  erf,
  floor,
  ceil,
  round,
  logical_not,
  is_finite,
  is_nan,
};
enum class Binary {
  add,
  subtract,
  multiply,
  divide,
  power,
  maximum,
  minimum,
  floor_divide,
  remainder,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
};
std::string_view name(Unary op);
std::string_view name(Binary op);

/// Activations are in activation.h.
Array unary(Unary op, const Operand& x);

/// Matches axes by name. One operand's axes must lie within the other's (Haliax's rule); `out` is the order
/// of the result's axes. One name with two sizes is an error, 1 against n included.
Array binary(Binary op, const Operand& a, const Operand& b, Names out);
Array binary(Binary op, const Operand& a, double b);
Array binary(Binary op, double a, const Operand& b);

/// Where `condition` (boolean) is true the elements of a, else of b; all three are aligned by name to `out`.
Array where(const Operand& condition, const Operand& a, const Operand& b, Names out);
Array where(const Operand& condition, const Operand& a, double b, Names out);

Array cast(const Operand& x, DType dtype);

}  // namespace bora::core
