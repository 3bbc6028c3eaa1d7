// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <set>

#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using bora::code_point_at;
using bora::previous_start;
using bora::utf8_length;

std::set<char32_t> characters_of(std::string_view text) {
  std::set<char32_t> out;
  for (std::size_t i = 0; i < text.size(); i += utf8_length(text[i]))
    out.insert(code_point_at(text.data() + i).value);
  return out;
}

template <class Keep>
Text strip_where(const Text& text, bool left, bool right, const Keep& strips) {
  const std::string& bytes = text.bytes();
  std::size_t begin = 0, end = bytes.size();
  while (left && begin < end && strips(code_point_at(bytes.data() + begin).value))
    begin += utf8_length(bytes[begin]);
  while (right && end > begin) {
    const std::size_t start = previous_start(bytes, end);
    if (!strips(code_point_at(bytes.data() + start).value)) break;
    end = start;
  }
  return text.slice(begin, end);
}

Text replaced_everywhere(Guard& guard, const Text& text, const Text& to, std::int64_t count) {
  // An empty string stands between all characters and at both ends.
  Text out;
  out.markup = text.markup;
  const Origin origin = text.summary();
  const auto insert = [&] {
    guard.charge_growth(out.size(), to.size());
    (origin & kControl) != 0 ? out.append(to) : out.append(to.view(), kUnknown);
  };
  std::size_t at = 0;
  for (std::int64_t left = count; left != 0; --left) {
    insert();
    if (at >= text.size()) break;
    const std::size_t next = at + utf8_length(text.bytes()[at]);
    out.append(text, at, next);
    at = next;
  }
  out.append(text, at, text.size());
  return out;
}

}  // namespace

Text stripped(Guard& guard, const Text& text, const Value* characters, bool left, bool right) {
  guard.charge_bytes(text.size());
  if (characters == nullptr || characters->is(Value::Kind::None))
    return strip_where(text, left, right, is_space);
  require_defined(guard, *characters);
  if (!characters->is(Value::Kind::String)) {
    guard.fail("strip needs a string of characters, not {}", type_name(*characters));
  }
  const std::set<char32_t> set = characters_of(characters->bytes());
  return strip_where(text, left, right, [&](char32_t c) { return set.contains(c); });
}

Text replaced(Guard& guard, const Text& text, const Text& from, const Text& to, std::int64_t count) {
  guard.charge_bytes(text.size());
  if (from.empty()) return replaced_everywhere(guard, text, to, count);
  Text out;
  out.markup = text.markup;
  std::size_t at = 0;
  for (std::int64_t left = count; left != 0; --left) {
    const std::size_t found = text.bytes().find(from.bytes(), at);
    if (found == std::string::npos) break;
    guard.charge_growth(out.size(), found - at + to.size());
    out.append(text, at, found);
    // What stands for a piece of the conversation is not the template's own doing.
    const bool control = (text.common_origin(found, found + from.size()) & kControl) != 0;
    control ? out.append(to) : out.append(to.view(), kUnknown);
    at = found + from.size();
  }
  out.append(text, at, text.size());
  return out;
}

Text joined(Guard& guard, const Text& separator, const std::vector<Value>& items) {
  Text out;
  bool first = true;
  for (const Value& item : items) {
    const Text text = to_text(guard, item);
    guard.charge_growth(out.size(), separator.size() + text.size());
    if (!first) out.append(separator);
    first = false;
    out.append(text);
  }
  return out;
}

std::vector<Text> lines_of(Guard& guard, const Text& text, bool keep_ends) {
  guard.charge_bytes(text.size());
  std::vector<Text> lines;
  const std::string& bytes = text.bytes();
  std::size_t start = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = line_break(bytes, at);
    if (length == 0) {
      ++at;
      while (at < bytes.size() && bora::is_continuation(bytes[at])) ++at;
      continue;
    }
    guard.charge();
    lines.push_back(text.slice(start, keep_ends ? at + length : at));
    start = at += length;
  }
  if (start < bytes.size()) lines.push_back(text.slice(start, bytes.size()));
  return lines;
}

Value rewritten(Guard& guard, const Text& text, std::string (*rewrite)(std::string_view)) {
  guard.charge_bytes(2 * text.size());
  Text out(rewrite(text.view()), text.summary());
  out.markup = text.markup;
  return Value(std::move(out));
}

}  // namespace bora::jinja
