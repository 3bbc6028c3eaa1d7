// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Python's two ways to format:
// https://docs.python.org/3.11/library/stdtypes.html#printf-style-string-formatting and
// https://docs.python.org/3.11/library/string.html#format-string-syntax
#include <algorithm>
#include <cmath>

#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/jinja/string.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

struct Spec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char group = '\0';
  std::int64_t width = 0;
  std::optional<std::int64_t> precision;
  char type = '\0';
};

constexpr std::int64_t kMostDigits = 1000;

class Scanner {
 public:
  Scanner(Guard& guard, std::string_view text) : guard_(guard), text_(text) {}
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  char take() {
    if (done()) guard_.fail("the format string ends too early");
    return text_[at_++];
  }
  bool skip(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view until(std::string_view stops) {
    const std::size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end;
    return out;
  }
  bool at_digit() const { return peek() >= '0' && peek() <= '9'; }
  std::int64_t number() {
    std::int64_t value = 0;
    while (at_digit()) {
      value = value * 10 + (take() - '0');
      if (value > INT32_MAX) guard_.fail("a number in the format string is too large");
    }
    return value;
  }
  std::string_view rest() const { return text_.substr(at_); }
  void move(std::size_t bytes) { at_ += bytes; }
  std::size_t at() const { return at_; }

 private:
  Guard& guard_;
  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Spec parse_spec(Guard& guard, std::string_view text) {
  Spec spec;
  Scanner in(guard, text);
  const std::size_t first = text.empty() ? 0 : bora::utf8_length(text[0]);
  if (first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    in.move(first);
    spec.align = in.take();
  } else if (is_align(in.peek())) {
    spec.align = in.take();
  }
  if (in.peek() == '+' || in.peek() == '-' || in.peek() == ' ') spec.sign = in.take();
  spec.alternate = in.skip('#');
  if (in.skip('0') && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = in.number();
  if (in.peek() == ',' || in.peek() == '_') spec.group = in.take();
  if (in.skip('.')) {
    if (!in.at_digit()) guard.fail("the format {} lacks a precision after its point", string_repr(text));
    spec.precision = in.number();
  }
  if (!in.done()) spec.type = in.take();
  if (!in.done()) guard.fail("the format {} is malformed", string_repr(text));
  return spec;
}

std::string grouped(std::string_view digits, char separator) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += separator;
    out += digits[i];
  }
  return out.append(digits.substr(whole));
}

// `sign_length` bytes at the start stay in front of padding with '='.
Text padded(Guard& guard, const Spec& spec, const Text& body, std::size_t sign_length, char default_align) {
  const auto length = static_cast<std::int64_t>(code_points(body.view()));
  const std::int64_t missing = std::max<std::int64_t>(spec.width - length, 0);
  const char align = spec.align == '\0' ? default_align : spec.align;
  const std::int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const Text filler(spec.fill, kUnknown);
  Text out = body.slice(0, align == '=' ? sign_length : 0);
  out.append(repeated(guard, filler, before));
  out.append(body, align == '=' ? sign_length : 0, body.size());
  out.append(repeated(guard, filler, missing - before));
  return out;
}

std::string whole_digits(Guard& guard, const Spec& spec, std::uint64_t value) {
  switch (spec.type) {
    case 'x':
      return (spec.alternate ? "0x" : "") + fmt::format("{:x}", value);
    case 'X':
      return (spec.alternate ? "0X" : "") + fmt::format("{:X}", value);
    case 'o':
      return (spec.alternate ? "0o" : "") + fmt::format("{:o}", value);
    case 'b':
      return (spec.alternate ? "0b" : "") + fmt::format("{:b}", value);
    case '\0':
    case 'd':
    case 'n':
      return std::to_string(value);
    default:
      guard.fail("the format type '{}' does not suit an integer", spec.type);
  }
}

std::string real_digits(Guard& guard, const Spec& spec, double value) {
  const std::int64_t digits = spec.precision.value_or(6);
  if (digits > kMostDigits) guard.fail("a precision of {} digits is too much", digits);
  const int precision = static_cast<int>(digits);
  if (!std::isfinite(value)) {
    const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
    return std::isnan(value) ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf";
  }
  switch (spec.type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", value, precision);
    case 'e':
      return fmt::format("{:.{}e}", value, precision);
    case 'E':
      return fmt::format("{:.{}E}", value, precision);
    case 'g':
      return fmt::format("{:.{}g}", value, precision);
    case 'G':
      return fmt::format("{:.{}G}", value, precision);
    case '%':
      return fmt::format("{:.{}f}%", value * 100, precision);
    case '\0':
      if (!spec.precision) return float_text(value);
      guard.stop(ErrorKind::Unsupported, "a precision needs a format type: f, e or g");
    default:
      guard.fail("the format type '{}' does not suit a float", spec.type);
  }
}

std::string sign_of(const Spec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

Text format_number(Guard& guard, const Spec& spec, const Value& value) {
  constexpr std::string_view kRealTypes = "eEfFgG%";
  const bool real = value.is(Kind::Float) || kRealTypes.find(spec.type) != std::string_view::npos;
  const bool negative = real ? std::signbit(value.real()) && !std::isnan(value.real()) : value.integer() < 0;
  std::string digits;
  if (real) {
    digits = real_digits(guard, spec, std::fabs(value.real()));
  } else {
    const auto bits = static_cast<std::uint64_t>(value.integer());
    digits = whole_digits(guard, spec, negative ? 0 - bits : bits);
    // Digits asked for by %05.3d.
    if (spec.precision && digits.size() < static_cast<std::size_t>(*spec.precision)) {
      if (*spec.precision > kMostDigits) guard.fail("a precision of {} digits is too much", *spec.precision);
      digits.insert(0, static_cast<std::size_t>(*spec.precision) - digits.size(), '0');
    }
  }
  if (spec.group != '\0') digits = grouped(digits, spec.group);
  std::string sign = sign_of(spec, negative);
  if (spec.alternate && digits.size() > 1 && digits[0] == '0' && digits[1] > '9') {
    sign += digits.substr(0, 2);
    digits.erase(0, 2);
  }
  return padded(guard, spec, Text(sign + digits, value.origin()), sign.size(), '>');
}

Text format_text(Guard& guard, const Spec& spec, const Text& text, char default_align) {
  if (!spec.precision) return padded(guard, spec, text, 0, default_align);
  const std::size_t end = offset_of(text.view(), static_cast<std::size_t>(*spec.precision));
  return padded(guard, spec, text.slice(0, end), 0, default_align);
}

Text character(Guard& guard, const Value& value) {
  if (value.is(Kind::String) && code_points(value.bytes()) == 1) return value.text();
  if (!value.is_whole() || value.integer() < 0 || value.integer() > 0x10FFFF) {
    guard.fail("%c needs a character or its number");
  }
  const auto c = static_cast<char32_t>(value.integer());
  if (c >= 0xD800 && c < 0xE000) guard.fail("%c: this number is no character");
  std::string out;
  bora::append_utf8(out, c);
  return Text(std::move(out), kUnknown);
}

// format % values.
class PercentFormat {
 public:
  PercentFormat(Guard& guard, const Text& format, const Value& values)
      : guard_(guard), format_(format), values_(values), in_(guard, format.view()) {}
  Text run();

 private:
  void field();
  Spec spec();
  std::int64_t number_or_star();
  Value next_value();
  Text shown(const Spec& spec, const Value& value);
  // Anything with keys counts as a mapping here, even an undefined value.
  bool is_mapping() const {
    return values_.is(Kind::Dict) || values_.is(Kind::List) || values_.is(Kind::Undefined) ||
           (values_.is(Kind::Object) && values_.object().type() == "range");
  }

  Guard& guard_;
  const Text& format_;
  const Value& values_;
  Scanner in_;
  std::optional<Value> by_key_;
  std::size_t used_ = 0;
  Text out_;
};

Text PercentFormat::run() {
  while (!in_.done()) {
    const std::size_t begin = in_.at();
    in_.until("%");
    guard_.charge_growth(out_.size(), in_.at() - begin);
    out_.append(format_, begin, in_.at());
    if (in_.skip('%')) field();
  }
  const std::size_t given = values_.is(Kind::Tuple) ? values_.items().size() : is_mapping() ? 0 : 1;
  if (used_ < given) guard_.fail("not all values of a % format are used: {} of {}", used_, given);
  out_.markup = format_.markup;
  return std::move(out_);
}

Value PercentFormat::next_value() {
  if (by_key_) return *by_key_;
  const bool tuple = values_.is(Kind::Tuple);
  if (used_ >= (tuple ? values_.items().size() : 1))
    guard_.fail("a % format needs more values than {}", used_);
  ++used_;
  return tuple ? values_.items()[used_ - 1] : values_;
}

std::int64_t PercentFormat::number_or_star() {
  if (!in_.skip('*')) return in_.number();
  const Value value = next_value();
  if (!value.is_whole()) guard_.fail("* in a % format needs an integer");
  return value.integer();
}

Spec PercentFormat::spec() {
  Spec spec;
  bool left = false, zero = false;
  for (bool more = true; more;) {
    switch (in_.peek()) {
      case '-':
        left = true;
        break;
      case '0':
        zero = true;
        break;
      case '+':
        spec.sign = '+';
        break;
      case ' ':
        spec.sign = spec.sign == '+' ? '+' : ' ';
        break;
      case '#':
        spec.alternate = true;
        break;
      default:
        more = false;
    }
    if (more) in_.take();
  }
  spec.width = number_or_star();
  if (spec.width < 0) left = true;
  spec.width = std::abs(std::clamp<std::int64_t>(spec.width, -INT32_MAX, INT32_MAX));
  if (in_.skip('.')) spec.precision = std::max<std::int64_t>(number_or_star(), 0);
  while (in_.peek() == 'h' || in_.peek() == 'l' || in_.peek() == 'L') in_.take();
  spec.type = in_.take();
  spec.align = left ? '<' : zero ? '=' : '>';
  if (zero && !left) spec.fill = "0";
  return spec;
}

void PercentFormat::field() {
  by_key_.reset();
  if (in_.skip('(')) {
    if (!is_mapping()) guard_.fail("a % format with names needs a dict");
    const std::string key(in_.until(")"));
    in_.take();
    require_defined(guard_, values_);
    if (!values_.is(Kind::Dict)) guard_.fail("a % format with names needs a dict");
    const Value* found = find(guard_, values_.dict(), key);
    if (found == nullptr) guard_.fail("the dict of a % format has no key {}", key);
    by_key_ = *found;
  }
  const Spec how = spec();
  const Text text = how.type == '%' ? Text("%", kControl) : shown(how, next_value());
  guard_.charge_growth(out_.size(), text.size());
  out_.append(text);
}

Text PercentFormat::shown(const Spec& spec, const Value& value) {
  Spec plain = spec;
  if (plain.align == '=') {
    plain.align = '>';
    plain.fill = " ";
  }
  switch (spec.type) {
    case 's':
      return format_text(guard_, plain, format_.markup ? as_markup(guard_, value) : to_text(guard_, value),
                         '>');
    case 'r': {
      const Text text = repr(guard_, value);
      return format_text(guard_, plain, format_.markup ? escaped(text) : text, '>');
    }
    case 'c':
      return format_text(guard_, plain, character(guard_, value), '>');
    case 'i':
    case 'u':
    case 'd':
    case 'x':
    case 'X':
    case 'o': {
      require_defined(guard_, value);
      const bool truncates =
          value.is(Kind::Float) && (spec.type == 'd' || spec.type == 'i' || spec.type == 'u');
      if (!value.is_whole() && !truncates)
        guard_.fail("%{} needs an integer, not {}", spec.type, type_name(value));
      if (truncates && !(std::fabs(value.real()) < 0x1p63))
        guard_.fail("%{}: the number is too large", spec.type);
      Spec number = spec;
      if (spec.type == 'i' || spec.type == 'u') number.type = 'd';
      return format_number(
          guard_, number,
          Value(truncates ? static_cast<std::int64_t>(value.real()) : value.integer(), value.origin()));
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      require_defined(guard_, value);
      if (!value.is_number()) guard_.fail("%{} needs a number, not {}", spec.type, type_name(value));
      return format_number(guard_, spec, value);
    default:
      guard_.fail("a % format has no type '{}'", spec.type);
  }
}

// format.format(...).
class BraceFormat {
 public:
  BraceFormat(Guard& guard, const Arguments& arguments) : guard_(guard), arguments_(arguments) {}
  Text run(const Text& format, int depth = 0);

 private:
  Text field(const Text& format, Scanner& in, int depth);
  Value lookup(std::string_view path);
  Value argument(std::string_view name);

  Guard& guard_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
};

// Of digits alone.
std::int64_t index_of(Guard& guard, std::string_view digits) {
  const auto index = parse_integer(digits, 10);
  if (index.outcome != ParsedInteger::Outcome::Fine) guard.fail("format has no argument number {}", digits);
  return index.value;
}

Value BraceFormat::argument(std::string_view name) {
  const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) {
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    guard_.fail("format has no argument {}", name);
  }
  const std::size_t index = name.empty() ? next_++ : static_cast<std::size_t>(index_of(guard_, name));
  if (index >= arguments_.positional.size()) guard_.fail("format has no argument number {}", index);
  return arguments_.positional[index];
}

Value BraceFormat::lookup(std::string_view path) {
  Scanner in(guard_, path);
  Value value = argument(in.until(".["));
  while (!in.done()) {
    if (in.take() == '.') {
      value = attribute_of(guard_, value, std::string(in.until(".[")));
      continue;
    }
    const std::string key(in.until("]"));
    in.take();
    const bool number = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
    value = item_of(guard_, value, number ? Value(index_of(guard_, key)) : Value(key, kUnknown));
  }
  return value;
}

Text BraceFormat::field(const Text& format, Scanner& in, int depth) {
  Value value = lookup(in.until("!:}"));
  if (in.skip('!')) {
    const char conversion = in.take();
    if (conversion != 's' && conversion != 'r') guard_.fail("format has no conversion '{}'", conversion);
    value = Value(conversion == 's' ? to_text(guard_, value) : repr(guard_, value));
  }
  std::string how;
  if (in.skip(':')) {
    const std::size_t begin = in.at();
    for (int open = 0; open > 0 || in.peek() != '}';) {
      const char c = in.take();
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
    how = run(format.slice(begin, in.at()), depth + 1).bytes();
  }
  if (in.take() != '}') guard_.fail("a field of a format string does not end");
  if (how.empty()) return to_text(guard_, value);
  const Spec spec = parse_spec(guard_, how);
  if (value.is_number()) return format_number(guard_, spec, value);
  if (!value.is(Kind::String)) guard_.fail("a {} takes no format", type_name(value));
  if (spec.type != '\0' && spec.type != 's')
    guard_.fail("the format type '{}' does not suit a string", spec.type);
  return format_text(guard_, spec, value.text(), '<');
}

Text BraceFormat::run(const Text& format, int depth) {
  if (depth > 1) guard_.fail("fields of a format string nest too deeply");
  Text out;
  out.markup = format.markup;
  Scanner in(guard_, format.view());
  while (!in.done()) {
    const std::size_t begin = in.at();
    in.until("{}");
    guard_.charge_growth(out.size(), in.at() - begin);
    out.append(format, begin, in.at());
    if (in.done()) break;
    const char brace = in.take();
    if (in.skip(brace)) {
      out.append(format, in.at() - 1, in.at());
    } else if (brace == '}') {
      guard_.fail("a format string has a single }}");
    } else {
      Text text = field(format, in, depth);
      if (format.markup && !text.markup) text = escaped(text);
      guard_.charge_growth(out.size(), text.size());
      out.append(text);
    }
  }
  return out;
}

}  // namespace

Value percent_format(Guard& guard, const Text& format, const Value& values) {
  return Value(PercentFormat(guard, format, values).run());
}

Value brace_format(Guard& guard, const Text& format, const Arguments& arguments) {
  return Value(BraceFormat(guard, arguments).run(format));
}

}  // namespace bora::jinja
