// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>
#include <vector>

#include "bora/tokenize/pipeline.h"

namespace bora::tokenize {

/// Appends the model's tokens of a piece. In ordinary text none of them is a special token that the text spells: a
/// spelling that the model itself knows as one piece (</s> is one of T5's) is taken apart after its first
/// character; a special token of one character becomes the unknown token or is left out. `tokenizers` would
/// give the special token's id, even with encode_special_tokens. Bytes of unknown characters (<0xE4>) stay as
/// they are where a file lists them as special: the text does not spell them.
void tokenize_piece(const Pipeline& pipeline, SpecialInText in_text, std::string_view piece,
                    std::vector<Token>& out);

}  // namespace bora::tokenize
