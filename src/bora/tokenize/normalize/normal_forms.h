// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/normalize/aligned_text.h"

namespace bora::tokenize {

/// Unicode normalization forms (UAX #15).
enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

/// True if `text` is in the form for sure, from a look at each character alone. (False: it may be.)
bool is_surely_normal(std::string_view text, NormalForm form);

/// What brings `text` into the form. A character stands for the first character of what it was composed from.
std::vector<Change> normal_form_changes(std::string_view text, NormalForm form);
/// `text` in the form.
std::string normal_form_text(std::string_view text, NormalForm form);

}  // namespace bora::tokenize
