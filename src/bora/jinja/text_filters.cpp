// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <array>

#include "bora/jinja/builtins.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;
using Rewrite = std::string (*)(std::string_view);
using bora::code_point_at;

template <Rewrite rewrite>
Value rewrite_all(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "this filter", std::move(arguments), {});
  return rewritten(guard, to_text(guard, subject), rewrite);
}

// Words begin after white space and any of -({[<; unlike str.title(), not after other marks.
std::string title_words(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto separates = [&](std::size_t i) {
      return std::string_view("-({[<").find(text[i]) != std::string_view::npos ||
             is_space(code_point_at(text.data() + i).value);
    };
    const bool separator = separates(at);
    std::size_t end = at;
    while (end < text.size() && separates(end) == separator) end += bora::utf8_length(text[end]);
    const std::size_t first = at + bora::utf8_length(text[at]);
    out += upper(text.substr(at, first - at));
    out += lower(text.substr(first, end - first));
    at = end;
  }
  return out;
}

Value title_filter(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "title", std::move(arguments), {});
  Text text = to_text(guard, subject);
  text.markup = false;
  return rewritten(guard, text, title_words);
}

Value trim(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "trim", std::move(arguments), {"chars"});
  return Value(stripped(guard, to_text(guard, subject), bound[0], true, true));
}

Value to_string(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "string", std::move(arguments), {});
  return Value(to_text(guard, subject));
}

Value replace(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "replace", std::move(arguments), {"old", "new", "count"}, 2);
  Text text = to_text(guard, subject);
  text.markup = false;
  const std::int64_t count = bound.unless_none(2) == nullptr ? -1 : bound.integer(2, -1);
  return Value(replaced(guard, text, to_text(guard, *bound[0]), to_text(guard, *bound[1]), count));
}

Value safe(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "safe", std::move(arguments), {});
  Text text = to_text(guard, subject);
  text.markup = true;
  return Value(std::move(text));
}

Value escape(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "escape", std::move(arguments), {});
  const Text text = as_markup(guard, subject);
  guard.charge_growth(0, text.size());
  return Value(text);
}

Value force_escape(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "forceescape", std::move(arguments), {});
  const Text text = escaped(to_text(guard, subject));
  guard.charge_growth(0, text.size());
  return Value(text);
}

Value indent(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "indent", std::move(arguments), {"width", "first", "blank"});
  require_defined(guard, subject);
  if (!subject.is(Kind::String)) guard.fail("indent needs a string, not {}", type_name(subject));
  const bool text_width = bound[0] != nullptr && bound[0]->is(Kind::String);
  const Text by = text_width ? bound[0]->text() : repeated(guard, Text(" ", kControl), bound.integer(0, 4));
  // The newline makes a last, empty line count, as in jinja2.
  Text text = subject.text();
  const bool markup = text.markup;
  text.append("\n", kControl);
  Text out;
  if (bound.flag(1)) out.append(by);
  bool first = true;
  for (const Text& line : lines_of(guard, text)) {
    guard.charge_growth(out.size(), by.size() + line.size() + 1);
    if (!first) {
      out.append("\n", kControl);
      if (!line.empty() || bound.flag(2)) out.append(by);
    }
    first = false;
    out.append(line);
  }
  out.markup = markup;
  return Value(std::move(out));
}

Value center(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "center", std::move(arguments), {"width"});
  const Value text(to_text(guard, subject));
  Arguments width;
  width.positional.emplace_back(bound.integer(0, 80));
  return call(guard, *string_method(guard, text, "center"), std::move(width));
}

Value truncate(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "truncate", std::move(arguments), {"length", "killwords", "end", "leeway"});
  const Text end = bound[2] != nullptr ? bound.text(2) : Text("...", kControl);
  const std::int64_t length = bound.integer(0, 255);
  const std::int64_t leeway = bound.unless_none(3) == nullptr ? 5 : bound.integer(3, 5);
  const std::int64_t kept = length - static_cast<std::int64_t>(code_points(end.view()));
  if (kept < 0 || leeway < 0) {
    guard.fail("truncate: the length {} and the leeway {} are too small", length, leeway);
  }
  const auto count = length_of(guard, subject);
  if (count && static_cast<std::int64_t>(*count) - length <= leeway) return subject;
  if (!subject.is(Kind::String)) guard.fail("truncate needs a string, not {}", type_name(subject));
  const Text& text = subject.text();
  Text out = text.slice(0, offset_of(text.view(), static_cast<std::size_t>(kept)));
  const std::size_t space = bound.flag(1) ? std::string::npos : out.bytes().rfind(' ');
  if (space != std::string::npos) out = out.slice(0, space);
  out.append(end);
  return Value(std::move(out));
}

Value word_count(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "wordcount", std::move(arguments), {});
  const Text text = to_text(guard, subject);
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); i += bora::utf8_length(text.bytes()[i])) {
    const char32_t c = code_point_at(text.bytes().data() + i).value;
    const bool word = c == '_' || is_letter(c) || bora::is_numeric(c);
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(words);
}

Value format(Guard& guard, const Value& subject, Arguments&& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    guard.fail("format takes either positional or named arguments, not both");
  }
  const Text text = to_text(guard, subject);
  if (arguments.named.empty())
    return percent_format(guard, text, tuple_of(guard, std::move(arguments.positional)));
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, value] : arguments.named) entries.emplace_back(Value(name, kUnknown), std::move(value));
  return percent_format(guard, text, dict_of(guard, std::move(entries)));
}

Value to_json_filter(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "tojson", std::move(arguments),
                    {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.flag(0);
  style.sort_keys = bound.flag(3);
  if (const Value* indent = bound.unless_none(1)) {
    style.indent = indent->is(Kind::String)
                       ? indent->bytes()
                       : repeated(guard, Text(" ", kUnknown), bound.integer(1, 0)).bytes();
    style.item_separator = ",";
  }
  if (const Value* separators = bound.unless_none(2)) {
    const std::vector<Value> two = items_of(guard, *separators);
    if (two.size() != 2 || !two[0].is(Kind::String) || !two[1].is(Kind::String)) {
      guard.fail("tojson: separators should be two strings");
    }
    style.item_separator = two[0].bytes();
    style.key_separator = two[1].bytes();
  }
  return Value(to_json(guard, subject, style), kUnknown);
}

constexpr std::array kTextFilters = {
    Builtin{"trim", trim},
    Builtin{"upper", rewrite_all<upper>},
    Builtin{"lower", rewrite_all<lower>},
    Builtin{"capitalize", rewrite_all<capitalize>},
    Builtin{"title", title_filter},
    Builtin{"string", to_string},
    Builtin{"replace", replace},
    Builtin{"safe", safe},
    Builtin{"e", escape},
    Builtin{"escape", escape},
    Builtin{"forceescape", force_escape},
    Builtin{"indent", indent},
    Builtin{"center", center},
    Builtin{"truncate", truncate},
    Builtin{"wordcount", word_count},
    Builtin{"format", format},
    Builtin{"tojson", to_json_filter},
};

}  // namespace

std::span<const Builtin> text_filters() { return kTextFilters; }

}  // namespace bora::jinja
