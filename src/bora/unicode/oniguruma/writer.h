// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/unicode/oniguruma/tree.h"

namespace bora {

/// The regex in PCRE2's words, for PCRE2_MULTILINE and PCRE2_DOTALL.
std::string pcre2_text(const OnigNode& node);

}  // namespace bora
