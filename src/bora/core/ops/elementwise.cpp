// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/elementwise.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/where_ops.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/power.h"
#include "bora/core/autograd/sums.h"
#include "bora/core/grad.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

using T = at::Tensor;
using S = at::Scalar;
enum class Needs { any, number, floating, boolean };

struct UnaryOp {
  std::string_view name;
  Needs needs;
  T (*apply)(const T&);
};

// In the order of the enumeration.
constexpr UnaryOp kUnary[] = {
    {"negative", Needs::number, [](const T& x) { return x.neg(); }},
    {"abs", Needs::number, [](const T& x) { return x.abs(); }},
    {"sign", Needs::number, [](const T& x) { return x.sign(); }},
    {"exp", Needs::floating, [](const T& x) { return x.exp(); }},
    {"expm1", Needs::floating, [](const T& x) { return x.expm1(); }},
    {"log", Needs::floating, [](const T& x) { return x.log(); }},
    {"log1p", Needs::floating, [](const T& x) { return x.log1p(); }},
    {"sqrt", Needs::floating, [](const T& x) { return x.sqrt(); }},
    {"rsqrt", Needs::floating, [](const T& x) { return x.rsqrt(); }},
    {"reciprocal", Needs::floating, [](const T& x) { return x.reciprocal(); }},
    {"square", Needs::number, [](const T& x) { return x.mul(x); }},
    {"sin", Needs::floating, [](const T& x) { return x.sin(); }},
    {"cos", Needs::floating, [](const T& x) { return x.cos(); }},
    {"tanh", Needs::floating, [](const T& x) { return x.tanh(); }},
    {"erf", Needs::floating, [](const T& x) { return x.erf(); }},
    {"floor", Needs::number, [](const T& x) { return x.floor(); }},
    {"ceil", Needs::number, [](const T& x) { return x.ceil(); }},
    {"round", Needs::number, [](const T& x) { return x.round(); }},
    {"logical_not", Needs::boolean, [](const T& x) { return x.logical_not(); }},
    {"is_finite", Needs::any, [](const T& x) { return x.isfinite(); }},
    {"is_nan", Needs::any, [](const T& x) { return x.isnan(); }},
};

struct BinaryOp {
  std::string_view name;
  Needs needs;
  bool compares;
  T (*apply)(const T&, const T&);
  T (*apply_scalar)(const T&, const S&);  // null: through an array of one element
};

bool is_narrow(const T& x) { return x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf; }

T raised(const T& a, const T& b) {
  if (is_narrow(a)) return raised(a.to(at::kFloat), b.to(at::kFloat)).to(a.scalar_type());
  if (b.dim() == 0 && b.device().is_cpu() && !b.requires_grad() && b.item().toDouble() == 2) return a.mul(a);
  const at::IntArrayRef sizes = a.numel() >= b.numel() ? a.sizes() : b.sizes();
  return power(a.expand(sizes), b.expand(sizes));
}

constexpr BinaryOp kBinary[] = {
    {"add", Needs::number, false, [](const T& a, const T& b) { return a.add(b); },
     [](const T& a, const S& b) { return a.add(b); }},
    {"subtract", Needs::number, false, [](const T& a, const T& b) { return a.sub(b); },
     [](const T& a, const S& b) { return a.sub(b); }},
    {"multiply", Needs::number, false, [](const T& a, const T& b) { return a.mul(b); },
     [](const T& a, const S& b) { return a.mul(b); }},
    {"divide", Needs::floating, false, [](const T& a, const T& b) { return a.div(b); },
     [](const T& a, const S& b) { return a.div(b); }},
    {"power", Needs::floating, false, raised, nullptr},
    {"maximum", Needs::number, false, [](const T& a, const T& b) { return at::_ops::maximum::call(a, b); },
     nullptr},
    {"minimum", Needs::number, false, [](const T& a, const T& b) { return at::_ops::minimum::call(a, b); },
     nullptr},
    {"floor_divide", Needs::number, false, [](const T& a, const T& b) { return a.div(b, "floor"); }, nullptr},
    {"remainder", Needs::number, false, [](const T& a, const T& b) { return a.remainder(b); }, nullptr},
    {"equal", Needs::any, true, [](const T& a, const T& b) { return a.eq(b); }, nullptr},
    {"not_equal", Needs::any, true, [](const T& a, const T& b) { return a.ne(b); }, nullptr},
    {"less", Needs::any, true, [](const T& a, const T& b) { return a.lt(b); }, nullptr},
    {"less_equal", Needs::any, true, [](const T& a, const T& b) { return a.le(b); }, nullptr},
    {"greater", Needs::any, true, [](const T& a, const T& b) { return a.gt(b); }, nullptr},
    {"greater_equal", Needs::any, true, [](const T& a, const T& b) { return a.ge(b); }, nullptr},
    {"logical_and", Needs::boolean, false, [](const T& a, const T& b) { return a.logical_and(b); }, nullptr},
    {"logical_or", Needs::boolean, false, [](const T& a, const T& b) { return a.logical_or(b); }, nullptr},
};

const UnaryOp& row(Unary op) { return kUnary[static_cast<std::size_t>(op)]; }
const BinaryOp& row(Binary op) { return kBinary[static_cast<std::size_t>(op)]; }

void check_elements(std::string_view op, Needs needs, const Operand& x) {
  const DType dtype = x.array.dtype();
  if (needs == Needs::boolean) require_boolean(op, x);
  if (op == "divide" && !is_floating(dtype)) {
    fail(ErrorKind::InvalidArgument, "divide: {} holds {}\nhint: floor_divide, or cast to f32 first",
         describe(x), name(dtype));
  }
  if (needs == Needs::floating) require_floating(op, x);
  if (needs == Needs::number) require_number(op, x);
}

bool is_whole_number(double value) { return std::isfinite(value) && value == std::floor(value); }

void check_whole(std::string_view op, const Operand& x, double value) {
  if (is_floating(x.array.dtype()) || is_whole_number(value)) return;
  fail(ErrorKind::InvalidArgument,
       "{}: {} is not a whole number, {} holds {}\nhint: cast the array to f32 first", op, value, describe(x),
       name(x.array.dtype()));
}

// Numbers that an integer type cannot hold would become others without a word.
void check_fits(const Operand& x, DType dtype) {
  const T& t = tensor(x.array);
  if (is_floating(dtype) || dtype == DType::boolean || !t.is_floating_point() || t.numel() == 0) return;
  const double low = t.min().item().toDouble(), high = t.max().item().toDouble();
  const bool fits = dtype == DType::u8    ? low > -1 && high < 256
                    : dtype == DType::i32 ? low > -2147483649.0 && high < 2147483648.0
                                          : low >= -0x1p63 && high < 0x1p63;
  if (fits) return;
  if (std::isnan(low)) {
    fail(ErrorKind::InvalidArgument, "cast: {} holds values that are not a number, which {} cannot hold",
         describe(x), name(dtype));
  }
  fail(ErrorKind::InvalidArgument,
       "cast: {} holds values from {} to {}, which {} cannot hold\nhint: limit them with minimum and "
       "maximum, or see "
       "where they come from",
       describe(x), low, high, name(dtype));
}

void check_scalar(const BinaryOp& op, const Operand& x, double value) {
  if (!op.compares) check_whole(op.name, x, value);
}

// `value` as a tensor without dimensions. Integers are compared with a fraction in f64, else in their own
// type.
T constant(const T& like, double value) {
  const bool fraction = !at::isFloatingType(like.scalar_type()) && !is_whole_number(value);
  return at::_ops::full::call(c10::SymIntArrayRef{}, value, fraction ? at::kDouble : like.scalar_type(),
                              std::nullopt, like.device(), std::nullopt);
}

S scalar(const T& like, double value) {
  return at::isFloatingType(like.scalar_type()) ? S(value) : S(static_cast<std::int64_t>(value));
}

Dims parts_of(const Space& space, Names out) {
  Dims sizes;
  sizes.reserve(out.size());
  for (const std::string_view axis : out) sizes.push_back(space.part(axis));
  return sizes;
}

// An operand of the shape `out` after broadcasting. Dimensions that line up from the right need no work; one
// recorded element is repeated by hand, because autograd would add up its gradient in an order that depends
// on threads.
T fitted(const Space& space, const Operand& x, Names out) {
  const T t = space.local(x);
  if (t.numel() == 1 && t.requires_grad() && !out.empty()) return expand_one(t, parts_of(space, out));
  const bool tail =
      x.names.size() <= out.size() && std::equal(x.names.rbegin(), x.names.rend(), out.rbegin());
  return tail ? t : aligned(t, x.names, out);
}

// Whether the sum may wait for a norm: in a pass on a device whose kernel takes both, of hidden states. Nothing
// that an optimizer changes is added later than it is asked for.
bool may_wait(const Operand& a, const Operand& b, Names out) {
  if (mapping() != nullptr || !(recording() || in_unrecorded_run) || out.size() < 2) return false;
  const auto as_it_lies = [&](const Operand& x) {
    const T& t = tensor(x.array);
    return std::equal(x.names.begin(), x.names.end(), out.begin(), out.end()) && t.is_contiguous() &&
           (t.scalar_type() == at::kFloat || t.scalar_type() == at::kBFloat16) &&
           !(t.is_leaf() && t.requires_grad());
  };
  return autograd::on_a_device(tensor(a.array)) && as_it_lies(a) && as_it_lies(b) &&
         device_kernels(tensor(a.array)).rms_norm.forward != nullptr;
}

Array later(const Operand& a, const Operand& b) {
  Array sum = wrap({});
  sum.node()->pending =
      std::make_unique<PendingSum>(PendingSum{a.array, b.array, at::GradMode::is_enabled()});
  return sum;
}

}  // namespace

std::string_view name(Unary op) { return row(op).name; }
std::string_view name(Binary op) { return row(op).name; }

Array unary(Unary op, const Operand& x) try {
  const Space space(name(op), {x});
  check_elements(name(op), row(op).needs, x);
  const T t = space.local(x);
  // torch computes 16-bit functions with roundings that differ at the end of a thread's part
  const bool widen = row(op).needs == Needs::floating && is_narrow(t);
  return space.label(widen ? row(op).apply(t.to(at::kFloat)).to(t.scalar_type()) : row(op).apply(t), x.names);
} catch (...) {
  rethrow(name(op), {x});
}

Array binary(Binary op, const Operand& a, const Operand& b, Names out) try {
  const Space space(name(op), {a, b});
  require_same_dtype(name(op), a, b);
  check_elements(name(op), row(op).needs, a);
  if (!within(a.names, b.names) && !within(b.names, a.names)) {
    fail(ErrorKind::InvalidArgument,
         "{}: neither operand's axes lie within the other's: {} and {}\nhint: broadcast one of them first",
         name(op), describe(a), describe(b));
  }
  require_same_axes(name(op), space.names(), out);
  if (op == Binary::add && may_wait(a, b, out)) return later(a, b);
  return space.label(row(op).apply(fitted(space, a, out), fitted(space, b, out)), out);
} catch (...) {
  rethrow(name(op), {a, b});
}

Array binary(Binary op, const Operand& a, double b) try {
  const Space space(name(op), {a});
  check_elements(name(op), row(op).needs, a);
  check_scalar(row(op), a, b);
  const T x = space.local(a);
  if (op == Binary::power && b == 2) {
    const T wide = is_narrow(x) ? x.to(at::kFloat) : x;
    return space.label(wide.mul(wide).to(x.scalar_type()), a.names);
  }
  const auto apply_scalar = row(op).apply_scalar;
  return space.label(apply_scalar ? apply_scalar(x, scalar(x, b)) : row(op).apply(x, constant(x, b)),
                     a.names);
} catch (...) {
  rethrow(name(op), {a});
}

Array binary(Binary op, double a, const Operand& b) try {
  const Space space(name(op), {b});
  check_elements(name(op), row(op).needs, b);
  check_scalar(row(op), b, a);
  const T x = space.local(b);
  return space.label(row(op).apply(constant(x, a), x), b.names);
} catch (...) {
  rethrow(name(op), {b});
}

Array where(const Operand& condition, const Operand& a, const Operand& b, Names out) try {
  const Space space("where", {condition, a, b});
  require_boolean("where", condition);
  require_same_dtype("where", a, b);
  require_same_axes("where", space.names(), out);
  const auto fit = [&](const Operand& x) { return fitted(space, x, out); };
  return space.label(at::_ops::where_self::call(fit(condition), fit(a), fit(b)), out);
} catch (...) {
  rethrow("where", {condition, a, b});
}

Array where(const Operand& condition, const Operand& a, double b, Names out) try {
  const Space space("where", {condition, a});
  require_boolean("where", condition);
  check_whole("where", a, b);
  require_same_axes("where", space.names(), out);
  const T chosen = fitted(space, a, out);
  return space.label(at::_ops::where_self::call(fitted(space, condition, out), chosen, constant(chosen, b)),
                     out);
} catch (...) {
  rethrow("where", {condition, a});
}

Array cast(const Operand& x, DType dtype) try {
  const Space space("cast", {x});
  if (x.array.dtype() == dtype) return x.array;
  check_fits(x, dtype);
  Array out = labelled_as(x.array, autograd::cast(tensor(x.array), scalar_type(dtype)));
  const T& from = tensor(x.array);
  const bool is_parameter = x.array.node()->use || (from.is_leaf() && from.requires_grad());
  const bool has_fewer_bytes = bytes(dtype) < bytes(x.array.dtype());
  if (is_parameter && has_fewer_bytes) out.node()->wide = x.array;
  return out;
} catch (...) {
  rethrow("cast", {x});
}

}  // namespace bora::core
