// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::jinja {

/// A number in a template: 12, 1_000, 0x1F, 0b1, 0o7, 1.5, 2e-3.
struct NumberText {
  std::size_t length = 0;
  bool whole = true;
  std::optional<std::int64_t> integer;  ///< absent: beyond 64 bits
  double real = 0;
};
/// The one that `text` begins with a digit of. Without `with_fraction` it ends before a dot or an exponent.
NumberText scan_number(std::string_view text, bool with_fraction);

/// The inside of a string literal with Python's escapes resolved; nothing, and `problem`, if one is wrong.
std::optional<std::string> unescaped(std::string_view inside, std::string& problem);

/// What Python's int(text, base) and float(text) make of a string.
struct ParsedInteger {
  enum class Outcome : std::uint8_t { Fine, Malformed, TooLarge } outcome = Outcome::Malformed;
  std::int64_t value = 0;
};
ParsedInteger parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

}  // namespace bora::jinja
