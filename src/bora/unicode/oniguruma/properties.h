// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "bora/unicode/oniguruma/class.h"

namespace bora {

/// A property that Oniguruma and PCRE2 both have, or that is no more than `newer`.
struct PropertyRow {
  std::string_view names;  ///< in lower case without spaces, hyphens and underscores, a space between two
  std::string_view pcre2;  ///< \p{...} of PCRE2; empty if it has none
  std::string_view newer;  ///< what Oniguruma's Unicode 16 has besides: code points and ranges in hexadecimal
};

std::span<const PropertyRow> property_rows();

/// \p{name} of Oniguruma: case, spaces, hyphens and underscores do not matter. Nothing if Bora does not know
/// it. `in_bracket`: as for word().
std::optional<OnigClass> property_class(std::string_view name, bool in_bracket);

/// [:name:] of Oniguruma.
std::optional<OnigClass> posix_class(std::string_view name);

/// \w. Outside of brackets, and for \b, the superscripts and fractions of Latin-1 (U+00B2, B3, B9, BC to BE)
/// are word characters as well.
OnigClass word(bool in_bracket);

OnigClass space();
OnigClass digit();
OnigClass hex_digit();

}  // namespace bora
