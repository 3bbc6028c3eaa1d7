// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <cmath>

#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

std::string_view symbol_of(Operator op) {
  constexpr std::string_view kSigns[] = {
      "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSigns[static_cast<std::size_t>(op)];
}

[[noreturn]] void mismatch(Guard& guard, Operator op, const Value& a, const Value& b) {
  guard.fail("'{}' has no meaning between {} and {}", symbol_of(op), type_name(a), type_name(b));
}

[[noreturn]] void result_too_large(Guard& guard) {
  guard.stop(ErrorKind::Unsupported, "the result does not fit an integer of 64 bits");
}

[[noreturn]] void by_zero(Guard& guard) { guard.fail("division by zero"); }

std::int64_t floor_divide(Guard& guard, std::int64_t a, std::int64_t b) {
  if (b == 0) by_zero(guard);
  if (b == -1) {
    if (a == INT64_MIN) result_too_large(guard);
    return -a;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t modulo(Guard& guard, std::int64_t a, std::int64_t b) {
  if (b == 0) by_zero(guard);
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo(Guard& guard, double a, double b) {
  if (b == 0) by_zero(guard);
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_divide(Guard& guard, double a, double b) {
  if (b == 0) by_zero(guard);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

std::int64_t power(Guard& guard, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) result_too_large(guard);
    exponent >>= 1;
    if (exponent == 0) return result;
    // A bit of the exponent is left, so the square is needed.
    if (__builtin_mul_overflow(base, base, &base)) result_too_large(guard);
  }
}

Value real_power(Guard& guard, double base, double exponent, Origin origin) {
  if (base == 0 && exponent < 0) guard.fail("zero cannot be raised to a negative power");
  if (base < 0 && std::isfinite(base) && std::floor(exponent) != exponent) {
    guard.stop(ErrorKind::Unsupported, "a negative number to a fractional power is complex");
  }
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    guard.fail("the power is too large");
  return Value(result, origin);
}

Value whole_arithmetic(Guard& guard, Operator op, std::int64_t a, std::int64_t b, Origin origin) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::Add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::Subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::Multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::FloorDivide:
      result = floor_divide(guard, a, b);
      break;
    case Operator::Modulo:
      result = modulo(guard, a, b);
      break;
    case Operator::Power:
      if (b < 0) return real_power(guard, static_cast<double>(a), static_cast<double>(b), origin);
      result = power(guard, a, b);
      break;
    default:
      if (b == 0) by_zero(guard);
      return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)), origin);
  }
  if (overflow) result_too_large(guard);
  return Value(result, origin);
}

Value arithmetic(Guard& guard, Operator op, const Value& left, const Value& right) {
  const Origin origin = left.origin() & right.origin();
  if (left.is_whole() && right.is_whole()) {
    return whole_arithmetic(guard, op, left.integer(), right.integer(), origin);
  }
  const double a = left.real(), b = right.real();
  switch (op) {
    case Operator::Add:
      return Value(a + b, origin);
    case Operator::Subtract:
      return Value(a - b, origin);
    case Operator::Multiply:
      return Value(a * b, origin);
    case Operator::FloorDivide:
      return Value(floor_divide(guard, a, b), origin);
    case Operator::Modulo:
      return Value(modulo(guard, a, b), origin);
    case Operator::Power:
      return real_power(guard, a, b, origin);
    default:
      if (b == 0) by_zero(guard);
      return Value(a / b, origin);
  }
}

Value add_texts(Guard& guard, const Value& left, const Value& right) {
  const bool markup = left.text().markup || right.text().markup;
  Text out = markup ? as_markup(guard, left) : left.text();
  const Text other = markup ? as_markup(guard, right) : right.text();
  guard.charge_growth(out.size(), other.size());
  guard.charge_bytes(out.size());
  out.append(other);
  return Value(std::move(out));
}

Value add_items(Guard& guard, const Value& left, const Value& right) {
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return left.is(Kind::List) ? list_of(guard, std::move(items)) : tuple_of(guard, std::move(items));
}

std::vector<Value> repeated_items(Guard& guard, const std::vector<Value>& items, std::int64_t times) {
  std::vector<Value> out;
  if (items.empty()) return out;
  for (std::int64_t i = 0; i < times; ++i) {
    guard.charge(items.size());
    out.insert(out.end(), items.begin(), items.end());
  }
  return out;
}

Value multiply(Guard& guard, const Value& left, const Value& right) {
  const Value& sequence = left.is_whole() ? right : left;
  const Value& times = left.is_whole() ? left : right;
  if (!times.is_whole()) mismatch(guard, Operator::Multiply, left, right);
  switch (sequence.kind()) {
    case Kind::String:
      return Value(repeated(guard, sequence.text(), times.integer()));
    case Kind::List:
      return list_of(guard, repeated_items(guard, sequence.items(), times.integer()));
    case Kind::Tuple:
      return tuple_of(guard, repeated_items(guard, sequence.items(), times.integer()));
    default:
      mismatch(guard, Operator::Multiply, left, right);
  }
}

}  // namespace

Text as_markup(Guard& guard, const Value& value) {
  Text text = to_text(guard, value);
  return value.is(Kind::String) && text.markup ? text : escaped(text);
}

Text repeated(Guard& guard, const Text& text, std::int64_t times) {
  Text out;
  out.markup = text.markup;
  if (text.empty()) return out;
  for (std::int64_t i = 0; i < times; ++i) {
    guard.charge_growth(out.size(), text.size());
    out.append(text);
  }
  return out;
}

Value binary(Guard& guard, Operator op, const Value& left, const Value& right) {
  guard.charge();
  if (op == Operator::Modulo && left.is(Kind::String)) return percent_format(guard, left.text(), right);
  require_defined(guard, left);
  require_defined(guard, right);
  if (left.is_number() && right.is_number()) return arithmetic(guard, op, left, right);
  if (op == Operator::Multiply) return multiply(guard, left, right);
  if (op == Operator::Add && left.kind() == right.kind()) {
    if (left.is(Kind::String)) return add_texts(guard, left, right);
    if (left.is_sequence()) return add_items(guard, left, right);
  }
  mismatch(guard, op, left, right);
}

bool compare(Guard& guard, Operator op, const Value& left, const Value& right) {
  const bool numbers = left.is_number() && right.is_number();
  switch (op) {
    case Operator::Equal:
      return equal(guard, left, right);
    case Operator::NotEqual:
      return !equal(guard, left, right);
    case Operator::Less:
      return less(guard, left, right, "<");
    case Operator::Greater:
      return less(guard, right, left, ">");
    case Operator::LessEqual:
      // The two ways differ for NaN.
      return numbers ? less(guard, left, right) || equal(guard, left, right)
                     : !less(guard, right, left, "<=");
    case Operator::GreaterEqual:
      return numbers ? less(guard, right, left) || equal(guard, left, right)
                     : !less(guard, left, right, ">=");
    case Operator::In:
      return contains(guard, right, left);
    default:
      return !contains(guard, right, left);
  }
}

Value negated(Guard& guard, const Value& value, bool negate) {
  require_defined(guard, value);
  if (!value.is_number()) {
    guard.fail("'{}' has no meaning in front of {}", negate ? '-' : '+', type_name(value));
  }
  if (value.is(Kind::Float)) return Value(negate ? -value.real() : value.real(), value.origin());
  if (!negate) return Value(value.integer(), value.origin());
  if (value.integer() == INT64_MIN) result_too_large(guard);
  return Value(-value.integer(), value.origin());
}

}  // namespace bora::jinja
