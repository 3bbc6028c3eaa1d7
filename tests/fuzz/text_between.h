// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>

#include "bora/store/documents.h"

namespace bora::fuzz {

/// The text of a range of bytes of a file, with a zero behind each document.
inline std::string text_between(const store::Source& source, const store::TextFormat& format,
                                std::uint64_t begin, std::uint64_t end) {
  std::string out;
  store::TextPiece piece;
  const auto reader = store::open_documents({source, begin, end}, format);
  while (reader->next(piece)) {
    out += piece.text;
    if (piece.ends_document) out += '\0';
  }
  return out;
}

}  // namespace bora::fuzz
