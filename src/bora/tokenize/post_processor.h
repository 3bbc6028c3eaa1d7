// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/json_view.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {

/// What happens to the tokens of one text at the end: "post_processor" in tokenizer.json. ByteLevel,
/// BertProcessing, RobertaProcessing, TemplateProcessing and Sequence all come down to ids before, ids after,
/// and trimmed offsets.
struct PostProcessor {
  /// White space is taken out of the offsets at both ends of a token.
  struct Trim {
    bool prefix_space = true;  ///< but not a single space at the start of the text: it may have been added
  };
  std::vector<std::int32_t> before, after;
  std::vector<Trim> trims;  ///< one after the other
  std::string json;         ///< as in the file; "null" if there is none

  /// Nothing for null. `vocab_size`: special ids must be below. Errors: Unsupported for other types, by name;
  /// Corruption.
  static PostProcessor read(const std::optional<JsonView>& json, std::int64_t vocab_size);
  /// ByteLevel with trim_offsets false: does nothing.
  static PostProcessor byte_level();
};

/// White space characters (Ġ is one) at both ends of a token's text.
struct TokenSpaces {
  std::int64_t leading = 0, trailing = 0;
};
TokenSpaces spaces_of(std::string_view token);

/// Trims offsets; `spaces` by token.
void trim_offsets(std::vector<CodePointSpan>& offsets, const std::vector<TokenSpaces>& spaces,
                  PostProcessor::Trim trim);

}  // namespace bora::tokenize
