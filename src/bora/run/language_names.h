// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora::run {

/// The code of a language of Whisper: "de" for German, german, <|de|> and DE. What it does not know stays as it is,
/// in lower case.
std::string language_code(std::string_view language);

}  // namespace bora::run
