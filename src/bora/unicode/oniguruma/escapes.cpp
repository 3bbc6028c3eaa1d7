// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/unicode/oniguruma/parser.h"
#include "bora/unicode/oniguruma/properties.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using Kind = OnigNode::Kind;

bool is_digit_of(char c, unsigned base) {
  if (c >= '0' && c < '8') return true;
  return base == 16 && ((c >= '8' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
}

unsigned digit_value(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); }

/// The character that a letter behind \ stands for; itself if for none.
char32_t control_of(char32_t letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'e':
      return 0x1B;
    default:
      return letter;
  }
}

}  // namespace

/// What follows a \ outside of brackets.
OnigNode OnigParser::escape() {
  const std::size_t begin = at_ - 1;
  if (at_end()) refuse_("a \\ at the end", begin);
  const char letter = peek();
  if (letter >= '1' && letter <= '9') return escaped_number(begin);
  if (auto place = escaped_place(letter, begin)) {
    ++at_;
    return *place;
  }
  if (auto set = escaped_class(letter, begin)) {
    ++at_;
    return *set;
  }
  if ((letter == 'p' || letter == 'P') && peek(1) == '{') {
    at_ += 2;
    return class_node(property(letter == 'P', false, begin), begin);
  }
  if (take("k")) return reference_by_name(begin);
  OnigNode node(Kind::Literal, begin);
  node.literal = escaped_character(begin);
  node.fold = options_.fold;
  return node;
}

std::optional<OnigNode> OnigParser::escaped_place(char letter, std::size_t at) const {
  switch (letter) {
    case 'A':
    case 'z':
    case 'Z':
    case 'b':
    case 'B':
    case 'K': {
      if (letter == 'K' && looks_ > 0) refuse_("\\K in a look-ahead or look-behind", at);
      OnigNode node(Kind::Anchor, at);
      node.anchor = letter;
      return node;
    }
    case 'X':
    case 'y':
    case 'Y':
      refuse_(fmt::format("the text segment \\{}", letter), at);
    case 'G':
      refuse_("the place \\G", at);
    case 'g':
      refuse_("the call \\g", at);
    default:
      return std::nullopt;
  }
}

std::optional<OnigNode> OnigParser::escaped_class(char letter, std::size_t at) const {
  if (auto set = escaped_set(letter, false)) return class_node(std::move(*set), at);
  if (letter == 'N') return class_node(OnigClass::of(CodePointSet{{'\n', '\n'}}.complement()), at);
  if (letter == 'O') return class_node(OnigClass::of({{0, kLastCodePoint}}), at);
  if (letter != 'R') return std::nullopt;
  OnigNode pair(Kind::Sequence, at), newline(Kind::Alternation, at), atomic(Kind::Atomic, at);
  for (const char32_t c : {U'\r', U'\n'}) pair.parts.push_back(class_node(OnigClass::of({{c, c}}), at));
  newline.parts.push_back(std::move(pair));
  newline.parts.push_back(class_node(OnigClass::of({{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}), at));
  atomic.parts.push_back(std::move(newline));
  return atomic;
}

/// \w, \s, \d, \h and their negations.
std::optional<OnigClass> OnigParser::escaped_set(char letter, bool in_bracket) const {
  switch (letter) {
    case 'w':
      return word(in_bracket);
    case 's':
      return space();
    case 'd':
      return digit();
    case 'h':
      return hex_digit();
    case 'W':
    case 'S':
    case 'D':
    case 'H':
      return OnigClass::negation(*escaped_set(static_cast<char>(letter | 0x20), in_bracket));
    default:
      return std::nullopt;
  }
}

/// What follows \p{ or \P{.
OnigClass OnigParser::property(bool negative, bool in_bracket, std::size_t at) {
  if (take("^")) negative = !negative;
  const std::size_t end = text_.find('}', at_);
  if (end == std::string_view::npos) refuse_("\\p{ without its }", at);
  const std::string_view name = text_.substr(at_, end - at_);
  auto set = property_class(name, in_bracket);
  if (!set) refuse_(fmt::format("the property {}", name), at);
  at_ = end + 1;
  return negative ? OnigClass::negation(std::move(*set)) : std::move(*set);
}

/// \1 to \9.
OnigNode OnigParser::escaped_number(std::size_t at) {
  const int number = peek() - '0';
  ++at_;
  if (peek() >= '0' && peek() <= '9') refuse_("a number of several digits behind \\", at);
  by_number_ = true;
  return reference(number, at);
}

/// One character, of any escape that stands for one.
char32_t OnigParser::escaped_character(std::size_t at) {
  if (at_end()) refuse_("a \\ at the end", at);
  const char letter = peek();
  if (letter == 'x') {
    ++at_;
    return at_end() ? U'x' : hexadecimal(at);
  }
  if (letter == 'u') {
    ++at_;
    const std::size_t begin = at_;
    const unsigned value = digits(16, 4);
    if (at_ != begin + 4) refuse_("\\u without four hexadecimal digits", at);
    return valid(value, at);
  }
  if (letter >= '0' && letter <= '7') return octal(at);
  if (letter == 'o' && peek(1) == '{') refuse_("the octal code \\o{", at);
  if (letter == 'c' || letter == 'C' || letter == 'M')
    refuse_(fmt::format("the control character \\{}", letter), at);
  return control_of(character());
}

/// What follows \x: {H...} or HH, of which several may be the bytes of one character.
char32_t OnigParser::hexadecimal(std::size_t at) {
  if (take("{")) {
    const std::size_t begin = at_;
    const unsigned value = digits(16, 8);
    if (at_ == begin || !take("}")) refuse_("\\x{ without one hexadecimal number and its }", at);
    return valid(value, at);
  }
  const unsigned first = digits(16, 2);
  return first < 0x80 ? first : bytes(first, at);
}

char32_t OnigParser::octal(std::size_t at) {
  const unsigned value = digits(8, 3);
  if (value >= 0x80) refuse_("an octal number above \\177", at);
  return value;
}

/// The character of several \xHH, the first of which has been read.
char32_t OnigParser::bytes(unsigned first, std::size_t at) {
  std::string utf8(1, static_cast<char>(first));
  const std::size_t length = first < 0xC2 ? 0 : utf8_length(utf8[0]);
  while (utf8.size() < length && take("\\x")) utf8 += static_cast<char>(digits(16, 2));
  if (utf8.size() != length || !is_valid_utf8(utf8)) refuse_("bytes that are no character", at);
  return code_point_at(utf8.data()).value;
}

char32_t OnigParser::valid(char32_t c, std::size_t at) const {
  if (c > kLastCodePoint || (c >= 0xD800 && c < 0xE000)) refuse_("a number that is no character", at);
  return c;
}

/// The number of at most `most` digits, 0 if there is none.
unsigned OnigParser::digits(unsigned base, std::size_t most) {
  unsigned value = 0;
  for (std::size_t n = 0; n < most && is_digit_of(peek(), base); ++n, ++at_)
    value = value * base + digit_value(peek());
  return value;
}

}  // namespace bora
