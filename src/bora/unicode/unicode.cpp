// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/unicode.h"

#include <simdjson.h>
#include <utf8proc.h>

#include <unordered_map>
#include <vector>

#include "bora/unicode/oniguruma/properties.h"
#include "bora/unicode/pattern.h"

namespace bora {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct ClassRange {
  char32_t first, last;
  CharClass kind;
};

// Letters and numbers of Unicode 15.1 and 16, which utf8proc (Unicode 15.0) does not know yet:
// UnicodeData.txt.
constexpr auto kLetter = CharClass::Letter, kNumber = CharClass::Number;
constexpr ClassRange kNewer[] = {
    {0x1C89, 0x1C8A, kLetter},   {0xA7CB, 0xA7CD, kLetter},   {0xA7DA, 0xA7DC, kLetter},
    {0x105C0, 0x105F3, kLetter}, {0x10D40, 0x10D49, kNumber}, {0x10D4A, 0x10D65, kLetter},
    {0x10D6F, 0x10D85, kLetter}, {0x10EC2, 0x10EC4, kLetter}, {0x11380, 0x11389, kLetter},
    {0x1138B, 0x1138B, kLetter}, {0x1138E, 0x1138E, kLetter}, {0x11390, 0x113B5, kLetter},
    {0x113B7, 0x113B7, kLetter}, {0x113D1, 0x113D1, kLetter}, {0x113D3, 0x113D3, kLetter},
    {0x116D0, 0x116E3, kNumber}, {0x11BC0, 0x11BE0, kLetter}, {0x11BF0, 0x11BF9, kNumber},
    {0x13460, 0x143FA, kLetter}, {0x16100, 0x1611D, kLetter}, {0x16130, 0x16139, kNumber},
    {0x16D40, 0x16D6C, kLetter}, {0x16D70, 0x16D79, kNumber}, {0x18CFF, 0x18CFF, kLetter},
    {0x1CCF0, 0x1CCF9, kNumber}, {0x1E5D0, 0x1E5ED, kLetter}, {0x1E5F0, 0x1E5F0, kLetter},
    {0x1E5F1, 0x1E5FA, kNumber}, {0x2EBF0, 0x2EE5D, kLetter},
};

struct LowerRange {
  char32_t first, last, lower;
};

// Lower case that Unicode 16 and 17 added.
constexpr LowerRange kNewerLower[] = {
    {0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},  {0xA7CC, 0xA7CC, 0xA7CD},
    {0xA7CE, 0xA7CE, 0xA7CF},    {0xA7D2, 0xA7D2, 0xA7D3}, {0xA7D4, 0xA7D4, 0xA7D5},
    {0xA7DA, 0xA7DA, 0xA7DB},    {0xA7DC, 0xA7DC, 0x19B},  {0x10D50, 0x10D65, 0x10D70},
    {0x16EA0, 0x16EB8, 0x16EBB},
};

CharClass class_of(char32_t c) {
  if ((c >= 9 && c <= 13) || c == 0x85) return CharClass::Space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::Letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::Number;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharClass::Space;
    default:
      return CharClass::Other;
  }
}

/// Length of the well-formed sequence at `i`, or 0; then `bad` is the length of the maximal ill-formed part.
std::size_t sequence_at(std::string_view s, std::size_t i, std::size_t& bad) {
  const auto byte = [&](std::size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  const unsigned lead = byte(i);
  bad = 1;
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0) return 0;
  unsigned low = 0x80,
           high = 0xBF;  // the second byte excludes overlong forms, surrogates, and beyond U+10FFFF
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (; bad < length; ++bad) {
    const unsigned b = byte(i + bad);
    if (i + bad >= s.size() || b < low || b > high) return 0;
    low = 0x80, high = 0xBF;
  }
  return length;
}

}  // namespace

const CharClass* char_classes() {
  static const std::vector<CharClass> table = [] {
    std::vector<CharClass> t(kCodePoints);
    for (char32_t c = 0; c < kCodePoints; ++c) t[c] = class_of(c);
    for (const ClassRange& range : kNewer) {
      for (char32_t c = range.first; c <= range.last; ++c) t[c] = range.kind;
    }
    return t;
  }();
  return table.data();
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      out += static_cast<char>(0xE0 | (c >> 12));
    } else {
      out += static_cast<char>(0xF0 | (c >> 18));
      out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    }
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
  }
  out += static_cast<char>(0x80 | (c & 0x3F));
}

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string utf8_lossy(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size() + 16);
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t bad = 0;
    const std::size_t length = sequence_at(bytes, i, bad);
    out += length > 0 ? bytes.substr(i, length) : kReplacement;
    i += length > 0 ? length : bad;
  }
  return out;
}

bool is_white_space(char32_t c) { return char_classes()[c] == CharClass::Space; }

bool is_numeric(char32_t c) {  // the standard library of Rust is at Unicode 17, its regexes at 16
  return char_classes()[c] == CharClass::Number || (c >= 0x11DE0 && c <= 0x11DE9) ||
         (c >= 0x16FF4 && c <= 0x16FF6);
}

namespace {

std::vector<bool> word_table() {
  std::string all;
  for (char32_t c = 0; c < kCodePoints; ++c) {
    if (c < 0xD800 || c >= 0xE000) append_utf8(all, c);
  }
  const OnigClass letters = simplified(OnigClass::any({word(true), OnigClass::of({{0x200C, 0x200D}})}));
  const Pattern pattern = Pattern::pcre2(pcre2_class(letters) + "+");
  std::vector<bool> table(kCodePoints);
  for (const PatternPart& part : pattern.parts(all)) {
    if (!part.match) continue;
    const char32_t first = code_point_at(all.data() + part.range.begin).value;
    const char32_t last = code_point_at(all.data() + previous_start(all, part.range.end)).value;
    for (char32_t c = first; c <= last; ++c) table[c] = true;
  }
  return table;
}

}  // namespace

bool is_word(char32_t c) {
  static const std::vector<bool> table = word_table();
  return table[c];
}

std::array<char32_t, 2> lower_case(char32_t c) {
  if (c == 0x130) return {U'i', 0x307};
  const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  if (lower == c && c >= kNewerLower[0].first) {
    for (const LowerRange& range : kNewerLower) {
      if (c >= range.first && c <= range.last) return {range.lower + (c - range.first), 0};
    }
  }
  return {lower, 0};
}

const std::array<char32_t, 256>& byte_alphabet() {
  static const std::array<char32_t, 256> table = [] {
    std::array<char32_t, 256> t{};
    char32_t next = 0x100;
    for (char32_t b = 0; b < 256; ++b) {
      const bool visible = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      t[b] = visible ? b : next++;
    }
    return t;
  }();
  return table;
}

bool bytes_from_alphabet(std::string_view token, std::string& out) {
  static const std::vector<std::int16_t> byte_of = [] {
    std::vector<std::int16_t> t(0x144, -1);
    for (std::size_t b = 0; b < 256; ++b) t[byte_alphabet()[b]] = static_cast<std::int16_t>(b);
    return t;
  }();
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < token.size();) {
    const CodePoint c = code_point_at(token.data() + i);
    if (c.value >= byte_of.size() || byte_of[c.value] < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte_of[c.value]);
    i += c.length;
  }
  return true;
}

void append_in_alphabet(std::string& out, std::string_view bytes) {
  for (const char b : bytes) append_utf8(out, byte_alphabet()[static_cast<unsigned char>(b)]);
}

}  // namespace bora
