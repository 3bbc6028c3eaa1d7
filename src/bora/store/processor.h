// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/store/documents.h"

namespace bora::store {

/// Turns documents into token ids. Any number of threads may call encode.
class Processor {
 public:
  virtual ~Processor() = default;
  /// Changes whenever encode would give other ids; a cache remembers it.
  virtual std::string fingerprint() const = 0;
  /// Every id is below it. Up to 65,536 a cache takes two bytes a token, else four.
  virtual std::int64_t vocab_size() const = 0;
  /// Appends the ids of one piece of a document to `out`: what starts a document (BOS) where
  /// piece.begins_document, what ends it (EOS) where piece.ends_document.
  virtual void encode(const TextPiece& piece, std::vector<std::int32_t>& out) const = 0;
};

}  // namespace bora::store
