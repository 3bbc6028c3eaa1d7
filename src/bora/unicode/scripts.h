// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/unicode/pattern.h"

namespace bora {

/// A number for the script of each code point, as SentencePiece groups them: Hiragana, Katakana and U+30FC
/// count as Han; 0 is for the space and for code points that Unicode 9 has no script for. Built once.
const std::uint8_t* script_classes();

/// The stretches of one script; characters of class 0 go with what comes before them, and are dropped where
/// there is nothing before them. Appends, each shifted by `shift`.
void split_by_script(std::string_view text, std::size_t shift, std::vector<ByteRange>& pieces);

}  // namespace bora
