// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/tokenize/oniguruma_tree.h"

namespace bora::tokenize {

/// The regex in PCRE2's words, for PCRE2_MULTILINE and PCRE2_DOTALL.
std::string pcre2_text(const OnigNode& node);

}  // namespace bora::tokenize
