// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "bora/base/json_view.h"
#include "bora/tokenize/normalize/aligned_text.h"

namespace bora::tokenize {

/// Rewrites a text before it is split: "normalizer" in tokenizer.json.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  /// True if apply() surely leaves the text alone; cheap.
  virtual bool leaves(std::string_view text) const = 0;
  /// Appends the JSON that read_normalizer() reads.
  virtual void write(std::string& out) const = 0;
};

/// Each character becomes its full lower case.
void to_lower_case(AlignedText& text);

/// BertNormalizer, NFC, NFD, NFKC, NFKD, Nmt, Lowercase, Strip, StripAccents, Precompiled, Replace, Prepend,
/// ByteLevel, Sequence; SentencePiece of Bora's own.
/// Errors: Unsupported for other types, by name.
std::unique_ptr<const Normalizer> read_normalizer(const JsonView& json);

}  // namespace bora::tokenize
