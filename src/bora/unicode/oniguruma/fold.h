// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>

#include "bora/unicode/oniguruma/tree.h"

namespace bora {

/// A bracket under (?i): with every character that folds to the same as one of its own, and, unless it is
/// negative, with the strings that one of its characters folds to ("ss" for U+00DF).
OnigNode folded_class(OnigClass set, bool negative, std::size_t at);

/// Literals under (?i) become the classes and strings that fold to the same (CaseFolding.txt of Unicode 16, C
/// and F). As in Oniguruma, a string that a character folds to is recognised among neighbours of one
/// sequence, and not in a look-behind.
void fold_literals(OnigNode& node, bool behind = false);

}  // namespace bora
