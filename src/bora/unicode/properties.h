// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora {

/// The general categories that normalizers and pre-tokenizers ask for, as the crates behind `tokenizers` have
/// them: their tables are those of Unicode 7 to 9, so that characters of later versions belong to none.
enum TextProperty : std::uint8_t {
  kControl = 1,          ///< Cc, Cf, Co
  kNonspacingMark = 2,   ///< Mn
  kCombiningMark = 4,    ///< M
  kPunctuationMark = 8,  ///< P, and every visible ASCII character that is no letter or digit
  kUnordered = 16,       ///< a mark whose combining class is 0 because it is newer than Unicode 9
};

/// The properties of every code point, or'ed; built once.
const std::uint8_t* text_properties();

inline bool has_property(char32_t c, TextProperty property) { return (text_properties()[c] & property) != 0; }

/// One of the CJK ideographs that BERT separates by spaces (multilingual BERT, tokenization.py).
bool is_chinese(char32_t c);

}  // namespace bora
