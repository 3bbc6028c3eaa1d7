// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Methods of str: https://docs.python.org/3.11/library/stdtypes.html#string-methods
#include <algorithm>
#include <array>

#include "bora/jinja/objects.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;
using Rewrite = std::string (*)(std::string_view);
using bora::code_point_at;
using bora::utf8_length;

Value whole(std::size_t n) { return Value(static_cast<std::int64_t>(n)); }

template <Rewrite rewrite>
Value rewrite_every(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "a string's method", std::move(arguments), {});
  return rewritten(guard, self.text(), rewrite);
}

template <bool left, bool right>
Value strip(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "strip", std::move(arguments), {"chars"});
  return Value(stripped(guard, self.text(), bound[0], left, right));
}

Value texts(Guard& guard, std::vector<Text> pieces) {
  std::vector<Value> items;
  for (Text& piece : pieces) items.emplace_back(std::move(piece));
  return list_of(guard, std::move(items));
}

// str.split() without a separator: runs of white space. What a limit leaves over keeps the space at its far
// end.
std::vector<Text> words(const Text& text, std::int64_t limit, bool from_right) {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  const std::string& bytes = text.bytes();
  bool inside = false;
  for (std::size_t i = 0; i < bytes.size(); i += utf8_length(bytes[i])) {
    const bool space = is_space(code_point_at(bytes.data() + i).value);
    if (!space && !inside) words.emplace_back(i, i);
    if (!space) words.back().second = i + utf8_length(bytes[i]);
    inside = !space;
  }
  const std::size_t single =
      limit < 0 ? words.size() : std::min(static_cast<std::size_t>(limit), words.size());
  const std::size_t rest = words.size() - single;
  std::vector<Text> out;
  if (from_right && rest > 0) out.push_back(text.slice(0, words[rest - 1].second));
  for (std::size_t i = 0; i < single; ++i) {
    const auto [begin, end] = words[from_right ? rest + i : i];
    out.push_back(text.slice(begin, end));
  }
  if (!from_right && rest > 0) out.push_back(text.slice(words[single].first, bytes.size()));
  return out;
}

std::vector<Text> pieces_between(const Text& text, const std::string& separator, std::int64_t limit,
                                 bool from_right) {
  std::vector<Text> out;
  const std::string& bytes = text.bytes();
  std::size_t begin = 0, end = bytes.size();
  for (; limit != 0; --limit) {
    if (from_right) {
      const std::size_t at =
          end < separator.size() ? std::string::npos : bytes.rfind(separator, end - separator.size());
      if (at == std::string::npos) break;
      out.push_back(text.slice(at + separator.size(), end));
      end = at;
    } else {
      const std::size_t at = bytes.find(separator, begin);
      if (at == std::string::npos) break;
      out.push_back(text.slice(begin, at));
      begin = at + separator.size();
    }
  }
  out.push_back(text.slice(begin, end));
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

template <bool from_right>
Value split(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "split", std::move(arguments), {"sep", "maxsplit"});
  const std::int64_t limit = bound.integer(1, -1);
  guard.charge_bytes(2 * self.text().size());
  if (bound.unless_none(0) == nullptr) return texts(guard, words(self.text(), limit, from_right));
  const std::string& separator = bound.text(0).bytes();
  if (separator.empty()) guard.fail("split: the separator is empty");
  return texts(guard, pieces_between(self.text(), separator, limit, from_right));
}

Value split_lines(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "splitlines", std::move(arguments), {"keepends"});
  return texts(guard, lines_of(guard, self.text(), bound.flag(0)));
}

template <bool from_right>
Value partition(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "partition", std::move(arguments), {"sep"}, 1);
  const std::string& separator = bound.text(0).bytes();
  if (separator.empty()) guard.fail("partition: the separator is empty");
  const Text& text = self.text();
  const std::size_t at = from_right ? text.bytes().rfind(separator) : text.bytes().find(separator);
  if (at == std::string::npos) {
    const Value empty("", kControl);
    return tuple_of(guard, from_right ? std::vector{empty, empty, self} : std::vector{self, empty, empty});
  }
  const std::size_t end = at + separator.size();
  return tuple_of(
      guard, {Value(text.slice(0, at)), Value(text.slice(at, end)), Value(text.slice(end, text.size()))});
}

// The part of the text that optional start and end arguments leave, in bytes; nothing if start lies behind
// the end.
struct Window {
  std::size_t begin, end;
};
std::optional<Window> window(Guard& guard, const Text& text, const Bound& bound) {
  guard.charge_bytes(text.size());
  const auto length = static_cast<std::int64_t>(code_points(text.view()));
  const auto at = [&](std::size_t i, std::int64_t otherwise) {
    std::int64_t index = bound.unless_none(i) == nullptr ? otherwise : bound.integer(i, 0);
    if (index < 0) index += length;
    return std::max<std::int64_t>(index, 0);
  };
  const std::int64_t start = at(1, 0), stop = std::min(at(2, length), length);
  if (start > stop) return std::nullopt;
  return Window{offset_of(text.view(), static_cast<std::size_t>(start)),
                offset_of(text.view(), static_cast<std::size_t>(stop))};
}

template <bool at_end>
Value begins_or_ends(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, at_end ? "endswith" : "startswith", std::move(arguments),
                    {"prefix", "start", "end"}, 1);
  const auto part = window(guard, self.text(), bound);
  const std::vector<Value> several =
      bound[0]->is(Kind::Tuple) ? bound[0]->items() : std::vector<Value>{*bound[0]};
  for (const Value& one : several) {
    require_defined(guard, one);
    if (!one.is(Kind::String)) guard.fail("startswith and endswith need a string, not {}", type_name(one));
    if (!part) continue;
    const std::string_view text = self.text().view().substr(part->begin, part->end - part->begin);
    if (at_end ? text.ends_with(one.bytes()) : text.starts_with(one.bytes())) return Value(true);
  }
  return Value(false);
}

template <bool from_right, bool must>
Value find_text(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "find", std::move(arguments), {"sub", "start", "end"}, 1);
  const std::string& what = bound.text(0).bytes();
  if (const auto part = window(guard, self.text(), bound)) {
    const std::string_view text = self.text().view().substr(part->begin, part->end - part->begin);
    const std::size_t at = from_right ? text.rfind(what) : text.find(what);
    if (at != std::string_view::npos)
      return whole(code_points(self.text().view().substr(0, part->begin + at)));
  }
  if (must) guard.fail("index: the string does not hold {}", string_repr(what));
  return Value(std::int64_t{-1});
}

Value count(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "count", std::move(arguments), {"sub", "start", "end"}, 1);
  const std::string& what = bound.text(0).bytes();
  const auto part = window(guard, self.text(), bound);
  if (!part) return Value(std::int64_t{0});
  const std::string_view text = self.text().view().substr(part->begin, part->end - part->begin);
  if (what.empty()) return whole(code_points(text) + 1);
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size()))
    ++found;
  return whole(found);
}

Value replace_in(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "replace", std::move(arguments), {"old", "new", "count"}, 2);
  const bool markup = self.text().markup;
  const Text from = markup ? as_markup(guard, *bound[0]) : bound.text(0);
  const Text to = markup ? as_markup(guard, *bound[1]) : bound.text(1);
  return Value(replaced(guard, self.text(), from, to, bound.integer(2, -1)));
}

Value join_with(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "join", std::move(arguments), {"iterable"}, 1);
  std::vector<Value> items = items_of(guard, *bound[0]);
  const bool markup = self.text().markup;
  for (Value& item : items) {
    if (markup) {
      item = Value(as_markup(guard, item));
    } else if (!item.is(Kind::String)) {
      guard.fail("join needs strings but got {}", type_name(item));
    }
  }
  Text out = joined(guard, self.text(), items);
  out.markup = markup;
  return Value(std::move(out));
}

Value format_with(Guard& guard, const Value& self, Arguments&& arguments) {
  return brace_format(guard, self.text(), arguments);
}

template <bool suffix>
Value remove_affix(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, suffix ? "removesuffix" : "removeprefix", std::move(arguments), {"affix"}, 1);
  const Text& text = self.text();
  const std::string& affix = bound.text(0).bytes();
  const bool found = suffix ? text.view().ends_with(affix) : text.view().starts_with(affix);
  if (!found) return self;
  return Value(suffix ? text.slice(0, text.size() - affix.size()) : text.slice(affix.size(), text.size()));
}

enum class Side : std::uint8_t { Left, Right, Both };

// Where str.center() puts the odd character depends on the width.
Value pad(Guard& guard, const Text& text, std::int64_t width, const Text& filler, Side text_side) {
  const auto length = static_cast<std::int64_t>(code_points(text.view()));
  const std::int64_t missing = width > length ? width - length : 0;
  const std::int64_t before = text_side == Side::Left    ? 0
                              : text_side == Side::Right ? missing
                                                         : missing / 2 + (missing & width & 1);
  Text out = repeated(guard, filler, before);
  out.markup = text.markup;
  guard.charge_growth(out.size(), text.size());
  out.append(text);
  out.append(repeated(guard, filler, missing - before));
  return Value(std::move(out));
}

template <Side side>
Value justify(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "a string's method", std::move(arguments), {"width", "fillchar"}, 1);
  const Text filler = bound[1] != nullptr ? bound.text(1) : Text(" ", kControl);
  if (code_points(filler.view()) != 1) guard.fail("the fill character should be one character");
  return pad(guard, self.text(), bound.integer(0, 0), filler, side);
}

Value zero_fill(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "zfill", std::move(arguments), {"width"}, 1);
  const Text& text = self.text();
  const bool sign = text.view().starts_with('-') || text.view().starts_with('+');
  Text out = text.slice(0, sign ? 1 : 0);
  const Value digits = pad(guard, text.slice(sign ? 1 : 0, text.size()), bound.integer(0, 0) - (sign ? 1 : 0),
                           Text("0", kControl), Side::Right);
  out.append(digits.text());
  return Value(std::move(out));
}

template <bool (*is)(char32_t), bool empty>
Value all_are(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "a string's method", std::move(arguments), {});
  guard.charge_bytes(self.text().size());
  const std::string& text = self.bytes();
  for (std::size_t i = 0; i < text.size(); i += utf8_length(text[i])) {
    if (!is(code_point_at(text.data() + i).value)) return Value(false);
  }
  return Value(empty || !text.empty());
}

// str.isupper() and islower(): something cased, and nothing of the other case.
template <bool (*is)(char32_t), bool (*is_other)(char32_t)>
Value all_cased(Guard& guard, const Value& self, Arguments&& arguments) {
  const Bound bound(guard, "a string's method", std::move(arguments), {});
  guard.charge_bytes(self.text().size());
  bool some = false;
  const std::string& text = self.bytes();
  for (std::size_t i = 0; i < text.size(); i += utf8_length(text[i])) {
    const char32_t c = code_point_at(text.data() + i).value;
    if (is_other(c)) return Value(false);
    some = some || is(c);
  }
  return Value(some);
}

bool is_ascii(char32_t c) { return c < 0x80; }
bool is_letter_or_digit(char32_t c) { return is_letter(c) || is_digit(c) || bora::is_numeric(c); }

Value missing_method(Guard& guard, const Value&, Arguments&&) {
  guard.stop(ErrorKind::Unsupported, "Bora does not have this method of strings");
}

constexpr std::array kStringMethods = {
    Builtin{"strip", strip<true, true>},
    Builtin{"lstrip", strip<true, false>},
    Builtin{"rstrip", strip<false, true>},
    Builtin{"split", split<false>},
    Builtin{"rsplit", split<true>},
    Builtin{"splitlines", split_lines},
    Builtin{"startswith", begins_or_ends<false>},
    Builtin{"endswith", begins_or_ends<true>},
    Builtin{"replace", replace_in},
    Builtin{"join", join_with},
    Builtin{"format", format_with},
    Builtin{"upper", rewrite_every<upper>},
    Builtin{"lower", rewrite_every<lower>},
    Builtin{"title", rewrite_every<title>},
    Builtin{"capitalize", rewrite_every<capitalize>},
    Builtin{"swapcase", rewrite_every<swap_case>},
    Builtin{"find", find_text<false, false>},
    Builtin{"rfind", find_text<true, false>},
    Builtin{"index", find_text<false, true>},
    Builtin{"rindex", find_text<true, true>},
    Builtin{"count", count},
    Builtin{"partition", partition<false>},
    Builtin{"rpartition", partition<true>},
    Builtin{"removeprefix", remove_affix<false>},
    Builtin{"removesuffix", remove_affix<true>},
    Builtin{"ljust", justify<Side::Left>},
    Builtin{"rjust", justify<Side::Right>},
    Builtin{"center", justify<Side::Both>},
    Builtin{"zfill", zero_fill},
    Builtin{"isalpha", all_are<is_letter, false>},
    Builtin{"isdigit", all_are<is_digit, false>},
    Builtin{"isdecimal", all_are<is_decimal, false>},
    Builtin{"isalnum", all_are<is_letter_or_digit, false>},
    Builtin{"isspace", all_are<is_space, false>},
    Builtin{"isprintable", all_are<is_printable, true>},
    Builtin{"isascii", all_are<is_ascii, true>},
    Builtin{"isupper", all_cased<is_upper, is_lower>},
    Builtin{"islower", all_cased<is_lower, is_upper>},
    Builtin{"casefold", missing_method},
    Builtin{"encode", missing_method},
    Builtin{"expandtabs", missing_method},
    Builtin{"format_map", missing_method},
    Builtin{"isidentifier", missing_method},
    Builtin{"isnumeric", missing_method},
    Builtin{"istitle", missing_method},
    Builtin{"maketrans", missing_method},
    Builtin{"translate", missing_method},
};

}  // namespace

std::optional<Value> string_method(Guard& guard, const Value& self, const std::string& name) {
  for (const Builtin& method : kStringMethods) {
    if (method.name == name) return Value(std::make_shared<Method>(guard, method, self));
  }
  return std::nullopt;
}

}  // namespace bora::jinja
