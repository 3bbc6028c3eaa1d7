// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Text for people, in characters that their surroundings can show.
#pragma once
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "bora/base/output.h"

namespace bora {

/// With nothing but ASCII: bars of = signs, - for a middle dot, x for a multiplication sign, | and - for lines, ~ for an
/// ellipsis, and ? for what has no such picture.
std::string ascii(std::string_view text);

/// The text as it is, or in ASCII alone where the locale says so (env::ascii_locale), wherever it goes.
std::string in_locale(std::string_view text);

/// fmt::print of text for people. (What other programs read, and what a model writes, goes out as it is.)
template <class... Parts>
void print_shown(fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::print("{}", in_locale(fmt::format(format, std::forward<Parts>(parts)...)));
}

/// The same, on standard error, whether or not anybody reads it: a result does not depend on a note beside it.
template <class... Parts>
void print_note(fmt::format_string<Parts...> format, Parts&&... parts) {
  write_output(Output::Error, in_locale(fmt::format(format, std::forward<Parts>(parts)...)));
}

}  // namespace bora
