// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/tokenize/models/word_table.h"

namespace bora::tokenize {

struct Pipeline;

/// The pieces that the model makes one token of, but for control tokens.
struct WholeWords {
  WordTable table;
  bool complete = false;  ///< every token that is a piece's only one is there
};

/// Asks the model for each token of its vocabulary.
WholeWords find_whole_words(const Pipeline& pipeline);

}  // namespace bora::tokenize
