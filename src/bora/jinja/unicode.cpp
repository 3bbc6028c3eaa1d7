// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using bora::append_utf8;
using bora::code_point_at;
using bora::CodePoint;

utf8proc_category_t category(char32_t c) {
  return static_cast<utf8proc_category_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
}

struct CodePoints {
  char32_t first, last;
};

bool in_ranges(char32_t c, const CodePoints* begin, const CodePoints* end) {
  const CodePoints* at =
      std::upper_bound(begin, end, c, [](char32_t x, const CodePoints& range) { return x < range.first; });
  return at != begin && c <= at[-1].last;
}

// Other_Lowercase and Other_Uppercase of PropList.txt.
constexpr CodePoints kLower[] = {
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},    {0x2E0, 0x2E4},
    {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},  {0x1D9B, 0x1DBF},
    {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},  {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},  {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
constexpr CodePoints kUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }
bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

// Punctuation with Word_Break MidLetter, MidNumLet or Single_Quote.
constexpr char32_t kWithinWords[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                     0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::binary_search(std::begin(kWithinWords), std::end(kWithinWords), c);
  }
}

struct Special {
  char32_t from;
  std::array<char32_t, 3> to;
};

// Upper case that is longer than one character.
constexpr Special kSpecialUpper[] = {
    {0xDF, {'S', 'S'}},
    {0x149, {0x2BC, 'N'}},
    {0x1F0, {'J', 0x30C}},
    {0x390, {0x399, 0x308, 0x301}},
    {0x3B0, {0x3A5, 0x308, 0x301}},
    {0x587, {0x535, 0x552}},
    {0x1E96, {'H', 0x331}},
    {0x1E97, {'T', 0x308}},
    {0x1E98, {'W', 0x30A}},
    {0x1E99, {'Y', 0x30A}},
    {0x1E9A, {'A', 0x2BE}},
    {0x1F50, {0x3A5, 0x313}},
    {0x1F52, {0x3A5, 0x313, 0x300}},
    {0x1F54, {0x3A5, 0x313, 0x301}},
    {0x1F56, {0x3A5, 0x313, 0x342}},
    {0x1FB2, {0x1FBA, 0x399}},
    {0x1FB3, {0x391, 0x399}},
    {0x1FB4, {0x386, 0x399}},
    {0x1FB6, {0x391, 0x342}},
    {0x1FB7, {0x391, 0x342, 0x399}},
    {0x1FBC, {0x391, 0x399}},
    {0x1FC2, {0x1FCA, 0x399}},
    {0x1FC3, {0x397, 0x399}},
    {0x1FC4, {0x389, 0x399}},
    {0x1FC6, {0x397, 0x342}},
    {0x1FC7, {0x397, 0x342, 0x399}},
    {0x1FCC, {0x397, 0x399}},
    {0x1FD2, {0x399, 0x308, 0x300}},
    {0x1FD3, {0x399, 0x308, 0x301}},
    {0x1FD6, {0x399, 0x342}},
    {0x1FD7, {0x399, 0x308, 0x342}},
    {0x1FE2, {0x3A5, 0x308, 0x300}},
    {0x1FE3, {0x3A5, 0x308, 0x301}},
    {0x1FE4, {0x3A1, 0x313}},
    {0x1FE6, {0x3A5, 0x342}},
    {0x1FE7, {0x3A5, 0x308, 0x342}},
    {0x1FF2, {0x1FFA, 0x399}},
    {0x1FF3, {0x3A9, 0x399}},
    {0x1FF4, {0x38F, 0x399}},
    {0x1FF6, {0x3A9, 0x342}},
    {0x1FF7, {0x3A9, 0x342, 0x399}},
    {0x1FFC, {0x3A9, 0x399}},
    {0xFB00, {'F', 'F'}},
    {0xFB01, {'F', 'I'}},
    {0xFB02, {'F', 'L'}},
    {0xFB03, {'F', 'F', 'I'}},
    {0xFB04, {'F', 'F', 'L'}},
    {0xFB05, {'S', 'T'}},
    {0xFB06, {'S', 'T'}},
    {0xFB13, {0x544, 0x546}},
    {0xFB14, {0x544, 0x535}},
    {0xFB15, {0x544, 0x53B}},
    {0xFB16, {0x54E, 0x546}},
    {0xFB17, {0x544, 0x53D}},
};

const Special* special_upper(char32_t c) {
  if (c < 0xDF) return nullptr;
  const auto* at = std::lower_bound(std::begin(kSpecialUpper), std::end(kSpecialUpper), c,
                                    [](const Special& entry, char32_t x) { return entry.from < x; });
  return at != std::end(kSpecialUpper) && at->from == c ? at : nullptr;
}

char32_t simple_upper(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}
char32_t simple_title(char32_t c) {
  return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
}

// U+1F80 to U+1FAF: a Greek vowel with iota subscript becomes the capital without it, and a capital iota.
void append_greek(std::string& out, char32_t c) {
  append_utf8(out, 0x1F08 + (c - 0x1F80) % 8 + (c < 0x1F90 ? 0 : c < 0x1FA0 ? 0x20 : 0x60));
  append_utf8(out, 0x399);
}

void append_upper(std::string& out, char32_t c) {
  if (c >= 0x1F80 && c <= 0x1FAF) return append_greek(out, c);
  const Special* special = special_upper(c);
  if (special == nullptr) return append_utf8(out, simple_upper(c));
  for (char32_t part : special->to) {
    if (part != 0) append_utf8(out, part);
  }
}

// As upper case, but what has three forms takes the middle one, and of several letters only the first stands.
void append_title(std::string& out, char32_t c) {
  const Special* special = special_upper(c);
  if (special == nullptr || simple_title(c) != c) return append_utf8(out, simple_title(c));
  if (is_title(c)) return append_utf8(out, c);
  const bool letters = c == 0xDF || c == 0x587 || c >= 0xFB00;
  for (std::size_t i = 0; char32_t part : special->to) {
    // A subscript iota stays small.
    if (c >= 0x1F80 && c < 0x2000 && part == 0x399 && i > 0) part = 0x345;
    if (part != 0) append_utf8(out, i > 0 && letters ? bora::lower_case(part)[0] : part);
    ++i;
  }
}

// U+03A3 at the end of a word.
bool is_final_sigma(std::string_view text, std::size_t at) {
  std::size_t before = at;
  bool cased = false;
  while (before > 0 && !cased) {
    before = bora::previous_start(text, before);
    const char32_t c = code_point_at(text.data() + before).value;
    if (is_case_ignorable(c)) continue;
    if (!is_cased(c)) break;
    cased = true;
  }
  if (!cased) return false;
  for (std::size_t after = at + 2; after < text.size();) {
    const CodePoint c = code_point_at(text.data() + after);
    if (!is_case_ignorable(c.value)) return !is_cased(c.value);
    after += c.length;
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t c) {
  if (c == 0x3A3) return append_utf8(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  const auto lower = bora::lower_case(c);
  append_utf8(out, lower[0]);
  if (lower[1] != 0) append_utf8(out, lower[1]);
}

// Calls visit(offset, code point) for each character; what it appends to the result is the rewritten text.
template <class Visit>
std::string rewrite(std::string_view text, const Visit& visit) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text.data() + at);
    visit(out, at, c.value);
    at += c.length;
  }
  return out;
}

}  // namespace

bool is_space(char32_t c) { return bora::is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t c) {
  // Numeric_Type=Digit outside Nd: superscripts, subscripts, and digits in circles and the like.
  constexpr CodePoints kDigits[] = {
      {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
      {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
      {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
      {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return is_decimal(c) || in_ranges(c, std::begin(kDigits), std::end(kDigits));
}

bool is_identifier_start(char32_t c) {
  return c < 0x80 ? (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'
                  : is_letter(c) || category(c) == UTF8PROC_CATEGORY_NL;
}

bool is_identifier_part(char32_t c) {
  if (is_identifier_start(c)) return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0xB7;
  }
}

bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || in_ranges(c, std::begin(kLower), std::end(kLower));
}

bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || in_ranges(c, std::begin(kUpper), std::end(kUpper));
}

std::string upper(std::string_view text) {
  return rewrite(text, [](std::string& out, std::size_t, char32_t c) { append_upper(out, c); });
}

std::string lower(std::string_view text) {
  return rewrite(text, [&](std::string& out, std::size_t at, char32_t c) { append_lower(out, text, at, c); });
}

std::string capitalize(std::string_view text) {
  return rewrite(text, [&](std::string& out, std::size_t at, char32_t c) {
    at == 0 ? append_title(out, c) : append_lower(out, text, at, c);
  });
}

std::string swap_case(std::string_view text) {
  return rewrite(text, [&](std::string& out, std::size_t at, char32_t c) {
    if (is_upper(c)) return append_lower(out, text, at, c);
    is_lower(c) ? append_upper(out, c) : append_utf8(out, c);
  });
}

std::string title(std::string_view text) {
  bool within = false;
  return rewrite(text, [&](std::string& out, std::size_t at, char32_t c) {
    within ? append_lower(out, text, at, c) : append_title(out, c);
    within = is_cased(c);
  });
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = code_point_at(text.data() + at);
    if (!is_space(c.value)) break;
    at += c.length;
  }
  return at;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t start = bora::previous_start(text, end);
    if (!is_space(code_point_at(text.data() + start).value)) break;
    end = start;
  }
  return text.size() - end;
}

std::size_t line_break(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == '\r') return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
  if ((byte >= '\n' && byte <= '\f') || (byte >= 0x1C && byte <= 0x1E)) return 1;
  if (byte < 0x80) return 0;
  const CodePoint c = code_point_at(text.data() + at);
  return c.value == 0x85 || c.value == 0x2028 || c.value == 0x2029 ? c.length : 0;
}

}  // namespace bora::jinja
