// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/string.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Length of digits of `base` at `from`, with single underscores between them (also before the first if
// `leading`).
std::size_t digits_at(std::string_view text, std::size_t from, int base, bool leading = false) {
  std::size_t at = from;
  while (at < text.size()) {
    const bool underscore = text[at] == '_' && (at > from || leading) && at + 1 < text.size();
    const std::size_t digit = underscore ? at + 1 : at;
    if (digit_value(text[digit]) >= base) break;
    at = digit + 1;
  }
  return at - from;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

std::optional<std::int64_t> integer_of(std::string_view digits, int base, bool negative = false) {
  const std::string plain = (negative ? "-" : "") + without_underscores(digits);
  std::int64_t value = 0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

// from_chars reports overflow and underflow alike; Python says infinity and zero.
double real_of(const std::string& plain) {
  double value = 0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  const std::size_t e = plain.find_first_of("eE");
  const std::string_view mantissa = std::string_view(plain).substr(0, e);
  if (mantissa.find_first_of("123456789") == std::string_view::npos) return 0;
  const bool tiny = (e != std::string::npos && plain[e + 1] == '-') || mantissa.substr(0, 2) == "0.";
  return tiny ? 0 : HUGE_VAL;
}

// Bytes of a fraction and an exponent after the `digits` bytes of a whole part, or 0.
std::size_t fraction_at(std::string_view text, std::size_t digits) {
  std::size_t at = digits;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_at(text, at + 1, 10);
    if (fraction == 0) return 0;
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const std::size_t length = digits_at(text, exponent, 10);
    if (length > 0) at = exponent + length;
  }
  return at - digits;
}

int radix_of(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'b':
    case 'B':
      return 2;
    case 'o':
    case 'O':
      return 8;
    case 'x':
    case 'X':
      return 16;
    default:
      return 10;
  }
}

std::string_view stripped(std::string_view text) {
  text.remove_prefix(leading_space(text));
  text.remove_suffix(trailing_space(text));
  return text;
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view inside) : inside_(inside) {}
  bool run() {
    while (at_ < inside_.size()) {
      const char c = inside_[at_];
      if (c == '\r') {
        // Line ends have been made plain already.
        ++at_;
      } else if (c != '\\') {
        out += c;
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    return true;
  }
  std::string out, problem;

 private:
  bool escape();
  bool hexadecimal(std::size_t digits);
  bool octal();
  bool add(char32_t c);

  std::string_view inside_;
  std::size_t at_ = 0;
};

bool Unescaper::escape() {
  const char c = inside_[at_ + 1];  // the lexer saw to it that a character follows
  constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
  const std::size_t simple = kFrom.find(c);
  if (simple != std::string_view::npos) {
    out += kTo[simple];
  } else if (c >= '0' && c <= '7') {
    return octal();
  } else if (c == 'x' || c == 'u' || c == 'U') {
    return hexadecimal(c == 'x' ? 2 : c == 'u' ? 4 : 8);
  } else if (c == 'N') {
    problem = "\\N{...} escapes are not supported\nhint: write the character, or \\u and its number";
    return false;
  } else if (static_cast<unsigned char>(c) >= 0x80) {
    // Jinja turns the character into an escape first, whose backslash the one in front then swallows.
    const auto [value, length] = bora::code_point_at(inside_.data() + at_ + 1);
    const auto number = static_cast<std::uint32_t>(value);
    out += value < 0x100     ? fmt::format("\\x{:02x}", number)
           : value < 0x10000 ? fmt::format("\\u{:04x}", number)
                             : fmt::format("\\U{:08x}", number);
    at_ += 1 + length;
    return true;
  } else if (c != '\n') {
    out += '\\';
    out += c;
  }
  at_ += 2;
  return true;
}

bool Unescaper::octal() {
  char32_t value = 0;
  ++at_;
  for (int i = 0; i < 3 && at_ < inside_.size() && digit_value(inside_[at_]) < 8; ++i) {
    value = value * 8 + static_cast<char32_t>(digit_value(inside_[at_++]));
  }
  return add(value);
}

bool Unescaper::hexadecimal(std::size_t digits) {
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::size_t at = at_ + 2 + i;
    const int digit = at < inside_.size() ? digit_value(inside_[at]) : 99;
    if (digit >= 16) {
      problem = fmt::format("\\{} needs {} hexadecimal digits", inside_[at_ + 1], digits);
      return false;
    }
    value = value * 16 + static_cast<char32_t>(digit);
  }
  at_ += 2 + digits;
  return add(value);
}

bool Unescaper::add(char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
    problem = fmt::format("U+{:04X} is no character", static_cast<std::uint32_t>(c));
    return false;
  }
  bora::append_utf8(out, c);
  return true;
}

}  // namespace

NumberText scan_number(std::string_view text, bool with_fraction) {
  NumberText number;
  const int radix = radix_of(text);
  const std::size_t prefixed = radix == 10 ? 0 : digits_at(text, 2, radix, true);
  if (prefixed > 0) {
    number.length = 2 + prefixed;
    number.integer = integer_of(text.substr(2, prefixed), radix);
    return number;
  }
  const std::size_t digits = digits_at(text, 0, 10);
  const std::size_t fraction = with_fraction ? fraction_at(text, digits) : 0;
  if (fraction > 0) {
    number.whole = false;
    number.length = digits + fraction;
    number.real = real_of(without_underscores(text.substr(0, number.length)));
    return number;
  }
  // Zeros in front of other digits are a number of their own, as in jinja2.
  const std::size_t nonzero = text.find_first_not_of("0_");
  number.length = text[0] == '0' ? std::min(nonzero, digits) : digits;
  if (number.length > 0 && text[number.length - 1] == '_') --number.length;
  number.integer = integer_of(text.substr(0, number.length), 10);
  return number;
}

std::optional<std::string> unescaped(std::string_view inside, std::string& problem) {
  Unescaper unescaper(inside);
  if (unescaper.run()) return std::move(unescaper.out);
  problem = std::move(unescaper.problem);
  return std::nullopt;
}

ParsedInteger parse_integer(std::string_view text, int base) {
  using Outcome = ParsedInteger::Outcome;
  text = stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int radix = radix_of(text);
  bool prefixed = false;
  if (radix != 10 && (base == 0 || base == radix)) {
    text.remove_prefix(2);
    base = radix;
    prefixed = true;
  }
  const bool zeros_only = text.find_first_not_of("0_") == std::string_view::npos;
  if (base == 0 && text.starts_with('0') && !zeros_only) return {Outcome::Malformed};
  if (base == 0) base = 10;
  if (text.empty() || digits_at(text, 0, base, prefixed) != text.size()) return {Outcome::Malformed};
  const auto value = integer_of(text, base, negative);
  return value ? ParsedInteger{Outcome::Fine, *value} : ParsedInteger{Outcome::TooLarge};
}

std::optional<double> parse_real(std::string_view text) {
  text = stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  double value = 0;
  if (small == "inf" || small == "infinity") {
    value = HUGE_VAL;
  } else if (small == "nan") {
    value = std::nan("");
  } else {
    // A digit may be missing on one side of the point.
    if (small.starts_with('.')) small.insert(0, "0");
    const std::size_t digits = digits_at(small, 0, 10);
    if (digits == 0) return std::nullopt;
    if (small.substr(digits, 1) == "." &&
        digit_value(digits + 1 < small.size() ? small[digits + 1] : ' ') >= 10) {
      small.insert(digits + 1, "0");
    }
    if (text == "." || digits + fraction_at(small, digits) != small.size()) return std::nullopt;
    value = real_of(without_underscores(small));
  }
  return negative ? -value : value;
}

}  // namespace bora::jinja
