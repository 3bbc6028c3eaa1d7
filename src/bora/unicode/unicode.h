// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bora {

/// The classes that pre-tokenizers tell apart: \p{L}, \p{N}, \s (White_Space), and the rest.
enum class CharClass : std::uint8_t { Other, Letter, Number, Space };

inline constexpr std::size_t kCodePoints = 0x110000;

/// The class of every code point (Unicode 16), a table of kCodePoints entries; built once.
const CharClass* char_classes();

struct CodePoint {
  char32_t value;
  std::size_t length;  ///< bytes
};

/// The code point at `p`, which must begin valid UTF-8.
inline CodePoint code_point_at(const char* p) {
  const auto* b = reinterpret_cast<const unsigned char*>(p);
  if (b[0] < 0x80) return {b[0], 1};
  if (b[0] < 0xE0) return {((b[0] & 0x1Fu) << 6) | (b[1] & 0x3Fu), 2};
  if (b[0] < 0xF0) return {((b[0] & 0x0Fu) << 12) | ((b[1] & 0x3Fu) << 6) | (b[2] & 0x3Fu), 3};
  return {((b[0] & 0x07u) << 18) | ((b[1] & 0x3Fu) << 12) | ((b[2] & 0x3Fu) << 6) | (b[3] & 0x3Fu), 4};
}

/// Bytes of the character that starts with `lead`.
inline std::size_t utf8_length(char lead) {
  const auto b = static_cast<unsigned char>(lead);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Start of the character that ends before `end` (end > 0, valid UTF-8).
inline std::size_t previous_start(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && is_continuation(text[end]));
  return end;
}

void append_utf8(std::string& out, char32_t code_point);

bool is_valid_utf8(std::string_view text);

/// Valid UTF-8 from any bytes: each maximal part of an ill-formed sequence becomes U+FFFD (Unicode,
/// section 3.9).
std::string utf8_lossy(std::string_view bytes);

/// char::is_whitespace, is_numeric (Nd, Nl, No) and punctuation (P* and ASCII symbols) as in `tokenizers`.
bool is_white_space(char32_t c);
bool is_numeric(char32_t c);
bool is_punctuation(char32_t c);
/// \w of Rust's regex crate: Alphabetic, M, Nd, Pc, Join_Control.
bool is_word(char32_t c);

/// Full lower case of one character: one code point, or two for U+0130 (the second is 0 otherwise).
std::array<char32_t, 2> lower_case(char32_t c);

/// GPT-2's printable stand-in for each byte (Radford et al. 2019, encoder.py): itself where it is visible
/// Latin-1, else U+0100 + n for the n-th of the others.
const std::array<char32_t, 256>& byte_alphabet();

/// The raw bytes of a token in that alphabet; false if it has another character (then `out` is not changed).
bool bytes_from_alphabet(std::string_view token, std::string& out);
/// The other way round; appends.
void append_in_alphabet(std::string& out, std::string_view bytes);

}  // namespace bora
