// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace bora::tokenize {

/// Characters of a property that Unicode 16 has and Unicode 14 (the tables of PCRE2) has not, as the inside
/// of a bracket; empty if there are none. `property`: a general category or its first letter, a script,
/// Alphabetic, Uppercase, Lowercase, or w for the \w of Oniguruma.
std::string newer_characters(std::string_view property);

/// The characters that these versions added, in ranges with their general category ("Lu").
void each_newer_category(
    const std::function<void(char32_t first, char32_t last, std::string_view category)>& use);

}  // namespace bora::tokenize
