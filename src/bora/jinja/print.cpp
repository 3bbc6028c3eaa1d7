// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;
using bora::code_point_at;

void append_hex(std::string& out, char32_t c) {
  if (c < 0x100) {
    out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c));
  } else if (c < 0x10000) {
    out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
  } else {
    out += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(c));
  }
}

void append_repr(Guard& guard, Text& out, const Value& value);

void append_items(Guard& guard, Text& out, const std::vector<Value>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ", kUnknown);
    append_repr(guard, out, items[i]);
  }
}

void append_dict(Guard& guard, Text& out, const Dict& dict) {
  out.append("{", kUnknown);
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) out.append(", ", kUnknown);
    first = false;
    append_repr(guard, out, key);
    out.append(": ", kUnknown);
    append_repr(guard, out, value);
  }
  out.append("}", kUnknown);
}

Text print_object(Guard& guard, const Value& value) {
  if (auto text = value.object().print(guard)) return *std::move(text);
  guard.stop(ErrorKind::Unsupported,
             fmt::format("a {} cannot be printed: Python would show its address\nhint: `| list` makes a list "
                         "of it",
                         type_name(value)));
}

std::string scalar(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return "None";
    case Kind::Bool:
      return value.boolean() ? "True" : "False";
    case Kind::Int:
      return std::to_string(value.integer());
    case Kind::Float:
      return float_text(value.real());
    default:
      return "Undefined";
  }
}

void append_repr(Guard& guard, Text& out, const Value& value) {
  const Level level(guard, guard.at);
  const std::size_t before = out.size();
  switch (value.kind()) {
    case Kind::String:
      if (value.text().markup) out.append("Markup(", kUnknown);
      out.append(string_repr(value.bytes()), value.origin());
      if (value.text().markup) out.append(")", kUnknown);
      break;
    case Kind::List:
      out.append("[", kUnknown);
      append_items(guard, out, value.items());
      out.append("]", kUnknown);
      break;
    case Kind::Tuple:
      out.append("(", kUnknown);
      append_items(guard, out, value.items());
      out.append(value.items().size() == 1 ? ",)" : ")", kUnknown);
      break;
    case Kind::Dict:
      append_dict(guard, out, value.dict());
      break;
    case Kind::Object:
      out.append(print_object(guard, value));
      break;
    default:
      out.append(scalar(value), value.origin());
  }
  guard.charge_growth(before, out.size() - before);
}

std::string digits_text(std::string_view digits, int exponent) {
  const int count = static_cast<int>(digits.size());
  std::string out;
  if (exponent < -4 || exponent >= 16) {
    out = digits.substr(0, 1);
    if (count > 1) out.append(".").append(digits.substr(1));
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  if (count <= exponent + 1) {
    return std::string(digits).append(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  }
  out = digits.substr(0, static_cast<std::size_t>(exponent) + 1);
  return out.append(".").append(digits.substr(static_cast<std::size_t>(exponent) + 1));
}

class JsonWriter {
 public:
  JsonWriter(Guard& guard, const JsonStyle& style) : guard_(guard), style_(style) {}
  void write(const Value& value);
  std::string out;

 private:
  void write_string(std::string_view text);
  void write_items(const Value& value);
  void write_dict(const Dict& dict);
  void write_key(const Value& key);
  void new_line() {
    if (!style_.indent) return;
    out += '\n';
    for (int i = 0; i < depth_; ++i) out += *style_.indent;
  }
  void separate(bool first) {
    if (!first) out += style_.item_separator;
    new_line();
  }

  Guard& guard_;
  const JsonStyle& style_;
  int depth_ = 0;
};

std::string json_number(const Value& value) {
  if (value.is(Kind::Int)) return std::to_string(value.integer());
  if (std::isnan(value.real())) return "NaN";
  if (std::isinf(value.real())) return value.real() > 0 ? "Infinity" : "-Infinity";
  return float_text(value.real());
}

void JsonWriter::write(const Value& value) {
  const Level level(guard_, guard_.at);
  const std::size_t before = out.size();
  switch (value.kind()) {
    case Kind::None:
      out += "null";
      break;
    case Kind::Bool:
      out += value.boolean() ? "true" : "false";
      break;
    case Kind::Int:
    case Kind::Float:
      out += json_number(value);
      break;
    case Kind::String:
      write_string(value.bytes());
      break;
    case Kind::List:
    case Kind::Tuple:
      write_items(value);
      break;
    case Kind::Dict:
      write_dict(value.dict());
      break;
    default:
      guard_.fail("a value of type {} has no JSON form{}", type_name(value),
                  value.is(Kind::Undefined) ? ": " + value.why() : "");
  }
  guard_.charge_growth(before, out.size() - before);
}

void JsonWriter::write_string(std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = code_point_at(text.data() + at);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        if (c < 0x20 || (style_.ascii && c >= 0x7F && c < 0x10000)) {
          out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
        } else if (style_.ascii && c >= 0x10000) {
          out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
        } else {
          out.append(text, at, length);
        }
    }
    at += length;
  }
  out += '"';
}

void JsonWriter::write_items(const Value& value) {
  if (value.items().empty()) {
    out += "[]";
    return;
  }
  out += '[';
  ++depth_;
  bool first = true;
  for (const Value& item : value.items()) {
    separate(first);
    first = false;
    write(item);
  }
  --depth_;
  new_line();
  out += ']';
}

void JsonWriter::write_key(const Value& key) {
  switch (key.kind()) {
    case Kind::String:
      return write_string(key.bytes());
    case Kind::None:
      return write_string("null");
    case Kind::Bool:
      return write_string(key.boolean() ? "true" : "false");
    case Kind::Int:
    case Kind::Float:
      return write_string(json_number(key));
    default:
      guard_.fail("a key of type {} has no JSON form", type_name(key));
  }
}

void JsonWriter::write_dict(const Dict& dict) {
  if (dict.entries.empty()) {
    out += "{}";
    return;
  }
  std::vector<const std::pair<Value, Value>*> entries;
  for (const auto& entry : dict.entries) entries.push_back(&entry);
  if (style_.sort_keys) {
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const auto* a, const auto* b) { return less(guard_, a->first, b->first); });
  }
  out += '{';
  ++depth_;
  bool first = true;
  for (const auto* entry : entries) {
    separate(first);
    first = false;
    write_key(entry->first);
    out += style_.key_separator;
    write(entry->second);
  }
  --depth_;
  new_line();
  out += '}';
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific);
  const std::string_view shown(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = shown.find('e');
  std::string digits(shown.substr(0, 1));
  if (e > 2) digits += shown.substr(2, e - 2);
  int exponent = 0;
  std::from_chars(shown.data() + e + (shown[e + 1] == '+' ? 2 : 1), shown.data() + shown.size(), exponent);
  return (std::signbit(value) ? "-" : "") + digits_text(digits, exponent);
}

std::string string_repr(std::string_view text) {
  const bool doubled = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubled ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = code_point_at(text.data() + at);
    if (c == '\\' || c == static_cast<unsigned char>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (!is_printable(c)) {
      append_hex(out, c);
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out += quote;
}

Text repr(Guard& guard, const Value& value) {
  Text out;
  append_repr(guard, out, value);
  return out;
}

Text to_text(Guard& guard, const Value& value) {
  switch (value.kind()) {
    case Kind::String:
      guard.charge_bytes(value.text().size());
      return value.text();
    case Kind::Undefined:
      return {};
    default:
      return repr(guard, value);
  }
}

std::string to_json(Guard& guard, const Value& value, const JsonStyle& style) {
  JsonWriter writer(guard, style);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace bora::jinja
