// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json_view.h"

namespace bora::tokenize {

/// Turns tokens back into text: "decoder" in tokenizer.json.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Rewrites the tokens; the text is what remains, joined.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
  /// The bytes that one token stands for, whatever its neighbours (they need not be UTF-8).
  virtual std::string alone(std::string token) const { return token; }
  /// Appends the JSON that read_decoder() reads.
  virtual void write(std::string& out) const = 0;
};

/// ByteLevel, WordPiece, Replace, ByteFallback, Fuse, Strip, Metaspace, BPEDecoder, CTC, Sequence;
/// SentencePiece of Bora's own.
/// Errors: Unsupported for other types, by name.
std::unique_ptr<const Decoder> read_decoder(const JsonView& json);

/// For trained tokenizers.
std::unique_ptr<const Decoder> byte_level_decoder();

}  // namespace bora::tokenize
