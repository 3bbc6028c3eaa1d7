// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/precompiled.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::size_t kLongestCluster = 5;  // bytes of those that are rewritten as a whole

std::size_t count_characters(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += is_continuation(c) ? 0 : 1;
  return n;
}

/// `old` becomes `by`: the characters that `by` has more are inserted ones; those it has less go with
/// whatever was written last, be it of this cluster or of one before.
void rewrite(std::vector<Change>& changes, std::string_view old, std::string_view by) {
  for (std::size_t i = 0; i < by.size(); i += utf8_length(by[i])) {
    changes.push_back({code_point_at(by.data() + i).value, 0});
  }
  const auto more = static_cast<int>(count_characters(by)) - static_cast<int>(count_characters(old));
  for (int i = 0; i < more; ++i) changes[changes.size() - 1 - static_cast<std::size_t>(i)].change = 1;
  if (more < 0 && !changes.empty()) changes.back().change += more;
}

struct Range {
  char32_t first, last;
};

// GraphemeBreakProperty.txt of Unicode 16: what utf8proc, whose tables are of Unicode 15, has not.
constexpr Range kContinuing[] = {  // Extend and SpacingMark
    {0x897, 0x897},     {0x10D69, 0x10D6D}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2},
    {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2},
    {0x113E1, 0x113E2}, {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F}, {0x1E5EE, 0x1E5EF}};
constexpr Range kVowels[] = {{0x16D63, 0x16D63}, {0x16D67, 0x16D6A}};
constexpr Range kUnassignedControls[] = {{0x2065, 0x2065},   {0xFFF0, 0xFFF8},   {0xE0000, 0xE0000},
                                         {0xE0002, 0xE001F}, {0xE0080, 0xE00FF}, {0xE01F0, 0xE0FFF}};

template <std::size_t n>
bool in(const Range (&ranges)[n], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](Range r) { return r.first <= c && c <= r.last; });
}

/// What utf8proc should take a character for: one of the same property that it knows.
utf8proc_int32_t for_breaks(char32_t c) {
  constexpr char32_t kMark = 0x300, kControl = 0x85, kVowel = 0x1160, kPrefix = 0x600;
  const bool known = c < 0x897 || (c > 0x897 && c < 0x2065) || (c > 0x2065 && c < 0xFFF0);
  if (known) return static_cast<utf8proc_int32_t>(c);
  if (in(kContinuing, c)) c = kMark;
  if (in(kUnassignedControls, c)) c = kControl;
  if (in(kVowels, c)) c = kVowel;
  return static_cast<utf8proc_int32_t>(c == 0x113D1 ? kPrefix : c);
}

}  // namespace

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  CodePoint before = code_point_at(text.data() + begin);
  std::size_t end = begin + before.length;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const CodePoint next = code_point_at(text.data() + end);
    const bool two_ascii = before.value < 0x80 && next.value < 0x80;
    if (two_ascii && !(before.value == '\r' && next.value == '\n')) break;
    if (utf8proc_grapheme_break_stateful(for_breaks(before.value), for_breaks(next.value), &state)) {
      break;
    }
    before = next;
    end += next.length;
  }
  return end;
}

bool Precompiled::leaves(std::string_view text) const {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80 || !charsmap_.is_plain(c)) return false;
  }
  return true;
}

std::string Precompiled::rewritten(std::string_view t) const {
  std::string out;
  out.reserve(t.size() + t.size() / 16);
  const auto is_plain = [&](char c) {
    return static_cast<unsigned char>(c) < 0x80 && c != '\r' && charsmap_.is_plain(c);
  };
  const auto try_rule = [&](std::string_view part) {
    const auto rule = charsmap_.shortest(part);
    if (rule) out += rule->by;
    return rule.has_value();
  };
  for (std::size_t begin = 0; begin < t.size();) {
    std::size_t plain = begin;  // those that are followed by ASCII are clusters of their own
    while (plain < t.size() && is_plain(t[plain])) ++plain;
    if (plain < t.size() && plain > begin && static_cast<unsigned char>(t[plain]) >= 0x80) --plain;
    out.append(t, begin, plain - begin);
    begin = plain;
    if (begin == t.size()) break;
    const std::size_t end = grapheme_end(t, begin);
    if (end - begin > kLongestCluster || !try_rule(t.substr(begin, end - begin))) {
      for (std::size_t i = begin; i < end; i += utf8_length(t[i])) {
        const std::string_view character = t.substr(i, utf8_length(t[i]));
        if (!try_rule(character)) out += character;
      }
    }
    begin = end;
  }
  return out;
}

void Precompiled::apply(AlignedText& text) const {
  const std::string& t = text.text();
  if (leaves(t)) return;
  if (!text.tracked()) return text.rewrite(rewritten(t), {});
  std::vector<Change> changes;
  changes.reserve(t.size());
  bool changed = false;
  const auto try_rule = [&](std::string_view part) {
    const auto rule = charsmap_.shortest(part);
    if (rule) rewrite(changes, part, rule->by);
    changed |= rule.has_value();
    return rule.has_value();
  };
  for (std::size_t begin = 0; begin < t.size();) {
    const std::size_t end = grapheme_end(t, begin);
    const std::string_view cluster(t.data() + begin, end - begin);
    if (cluster.size() > kLongestCluster || !try_rule(cluster)) {
      for (std::size_t i = begin; i < end; i += utf8_length(t[i])) {
        const CodePoint c = code_point_at(t.data() + i);
        if (!try_rule(std::string_view(t).substr(i, c.length))) changes.push_back({c.value, 0});
      }
    }
    begin = end;
  }
  if (changed) text.transform(changes);
}

void Precompiled::write(std::string& out) const {
  out += R"({"type":"Precompiled","precompiled_charsmap":")" + to_base64(charsmap_.bytes()) + "\"}";
}

}  // namespace bora::tokenize
