// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace bora::jinja {

// Python's str methods on one character or on valid UTF-8 (Python Standard Library, "Text Sequence Type";
// Unicode's UnicodeData.txt, SpecialCasing.txt and DerivedCoreProperties.txt).

bool is_space(char32_t c);
bool is_printable(char32_t c);
bool is_letter(char32_t c);
bool is_digit(char32_t c);    ///< 0-9 in any script, and superscripts
bool is_decimal(char32_t c);  ///< Nd
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string swap_case(std::string_view text);
/// str.title(): every letter after what is not a letter.
std::string title(std::string_view text);

/// Bytes of white space at the start and at the end.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);
/// Bytes of the line break of str.splitlines() at `at`, or 0.
std::size_t line_break(std::string_view text, std::size_t at);

}  // namespace bora::jinja
