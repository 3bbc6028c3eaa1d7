// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "bora/jinja/builtins.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/string.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;
using Outcome = ParsedInteger::Outcome;

[[noreturn]] void too_large(Guard& guard) {
  guard.stop(ErrorKind::Unsupported, "the number does not fit an integer of 64 bits");
}

std::optional<Value> truncated(Guard& guard, double value, Origin origin) {
  if (!std::isfinite(value)) return std::nullopt;
  if (!(std::fabs(value) < 0x1p63)) too_large(guard);
  return Value(static_cast<std::int64_t>(value), origin);
}

std::optional<double> real_of(const Value& value) {
  if (value.is_number()) return value.real();
  return value.is(Kind::String) ? parse_real(value.bytes()) : std::nullopt;
}

Value to_int(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "int", std::move(arguments), {"default", "base"});
  require_defined(guard, subject);
  Value otherwise = bound[0] != nullptr ? *bound[0] : Value(std::int64_t{0}, kControl);
  if (subject.is_whole()) return Value(subject.integer(), subject.origin());
  if (subject.is(Kind::Float) && std::isinf(subject.real())) guard.fail("int: infinity has no integer");
  if (subject.is(Kind::String)) {
    const std::int64_t base = bound.integer(1, 10);
    const bool sensible = base == 0 || (base >= 2 && base <= 36);
    const ParsedInteger parsed =
        sensible ? parse_integer(subject.bytes(), static_cast<int>(base)) : ParsedInteger{};
    if (parsed.outcome == Outcome::TooLarge) too_large(guard);
    if (parsed.outcome == Outcome::Fine) return Value(parsed.value, subject.origin());
  }
  const auto real = real_of(subject);
  if (!real) return otherwise;
  return truncated(guard, *real, subject.origin()).value_or(otherwise);
}

Value to_float(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "float", std::move(arguments), {"default"});
  require_defined(guard, subject);
  if (const auto real = real_of(subject)) return Value(*real, subject.origin());
  return bound[0] != nullptr ? *bound[0] : Value(0.0, kControl);
}

Value absolute(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "abs", std::move(arguments), {});
  require_defined(guard, subject);
  if (subject.is(Kind::Float)) return Value(std::fabs(subject.real()), subject.origin());
  if (!subject.is_whole()) guard.fail("abs needs a number, not {}", type_name(subject));
  return negated(guard, subject, subject.integer() < 0);
}

// Half to even, of the exact binary value.
double rounded(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision < -310) return std::copysign(0.0, value);
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / unit) * unit;
  }
  const std::string digits = fmt::format("{:.{}f}", value, static_cast<int>(precision));
  double out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

std::int64_t rounded(Guard& guard, std::int64_t value, std::int64_t precision) {
  if (precision >= 0) return value;
  if (precision < -18) return 0;
  std::int64_t unit = 1;
  for (std::int64_t i = precision; i < 0; ++i) unit *= 10;
  std::int64_t low = value / unit * unit, high = 0;
  if (low > value && __builtin_sub_overflow(low, unit, &low)) too_large(guard);
  if (low == value) return value;
  if (__builtin_add_overflow(low, unit, &high)) too_large(guard);
  const std::int64_t above = high - value, below = value - low;
  if (above != below) return above < below ? high : low;
  return low / unit % 2 == 0 ? low : high;
}

Value round_filter(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "round", std::move(arguments), {"precision", "method"});
  const std::int64_t precision = bound.integer(0, 0);
  const std::string method = bound[1] != nullptr ? bound.text(1).bytes() : "common";
  require_defined(guard, subject);
  if (method != "common" && method != "ceil" && method != "floor") {
    guard.fail("round: the method should be common, ceil or floor but is {}", method);
  }
  if (!subject.is_number()) guard.fail("round needs a number, not {}", type_name(subject));
  if (method == "common") {
    if (subject.is_whole()) return Value(rounded(guard, subject.integer(), precision), subject.origin());
    return Value(rounded(subject.real(), precision), subject.origin());
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = subject.real() * scale;
  if (!std::isfinite(scaled)) guard.fail("round: the number is too large");
  // Python goes through an integer, which has no negative zero.
  const double whole = (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0;
  return Value(whole / scale, subject.origin());
}

constexpr std::array kNumberFilters = {Builtin{"int", to_int}, Builtin{"float", to_float},
                                       Builtin{"abs", absolute}, Builtin{"round", round_filter}};

}  // namespace

std::span<const Builtin> number_filters() { return kNumberFilters; }

}  // namespace bora::jinja
