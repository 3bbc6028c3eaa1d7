// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bora/base/json_view.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::tokenize {

/// What happens to the tokens of a text, or of two, at the end: "post_processor" in tokenizer.json.
/// ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing and Sequence. For one text they all come
/// down to ids before, ids after, and trimmed offsets.
struct PostProcessor {
  /// White space is taken out of the offsets at both ends of a token.
  struct Trim {
    bool prefix_space = true;  ///< but not a single space at the start of the text: it may have been added
  };
  /// A part of a template: one of the texts, or special tokens.
  struct Part {
    int text = -1;  ///< 0 or 1; -1: special tokens
    std::vector<std::int32_t> ids;
    std::int32_t type_id = 0;
  };
  /// BertProcessing and RobertaProcessing surround each text; the first of two starts with cls, the second
  /// with sep in Roberta and with nothing in BERT.
  struct Surround {
    std::int32_t cls = 0, sep = 0;
    bool roberta = false;  ///< all type ids are 0
  };
  struct Template {
    std::vector<Part> single, pair;
  };
  using Stage = std::variant<Trim, Surround, Template>;
  std::vector<Stage> stages;  ///< one after the other

  std::vector<std::int32_t> before, after;
  std::vector<Trim> trims;
  std::string json;  ///< as in the file; "null" if there is none

  /// Nothing for null. `vocab_size`: special ids must be below. Errors: Unsupported for other types, by name;
  /// Corruption.
  static PostProcessor read(const std::optional<JsonView>& json, std::int64_t vocab_size);
  /// ByteLevel with trim_offsets false: does nothing.
  static PostProcessor byte_level();

 private:
  void frame_one_text(const JsonView& where);
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
