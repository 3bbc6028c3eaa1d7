// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bora/store/byte_stream.h"
#include "bora/store/format.h"
#include "bora/store/invalid_text.h"

namespace bora::store {

/// A document, or a part of one: documents over kPieceBytes arrive in pieces, so that memory stays bounded.
/// A piece ends where a tokenizer would cut anyway if it can: at one line end between two characters that are
/// no white space; else at any line end, else before a space, else between two characters.
struct TextPiece {
  std::string_view text;  ///< UTF-8, unless invalid bytes are kept; empty only in a piece that does nothing
                          ///< but end its document
  bool begins_document = true;
  bool ends_document = true;
};

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kLongestLine = 16 << 20;  ///< of a jsonl file

/// Which part of which file to read. Ranges are of plain files only; each reader moves both ends to the next
/// good place to cut, so that adjacent ranges meet and give together exactly what the whole file gives.
struct Segment {
  Source source;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// How records become text.
struct TextFormat {
  std::string text_key = "text";  ///< the field of a jsonl object
  bool whole_records = false;     ///< give each JSON object as it is written, in one piece; no .txt files
  InvalidText invalid_utf8 = InvalidText::Refuse;
  bool operator==(const TextFormat&) const = default;
};

/// Reads the documents of one segment in order. Empty documents are left out, a byte order mark is skipped.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// False at the end. The text lives until the next call.
  virtual bool next(TextPiece& piece) = 0;
  /// The file, and where there are lines that of the last piece: "a.jsonl:7".
  virtual std::string where() const = 0;
};

/// Errors, all Corruption: invalid UTF-8 (file:line, byte offset) unless it is replaced or kept, a line that
/// is no JSON object or lacks its text (file:line). Unsupported: a line over kLongestLine.
std::unique_ptr<DocumentReader> open_documents(const Segment& segment, const TextFormat& format,
                                               RawObserver observer = {});

/// The raw bytes that a segment of a plain file really covers, after both ends have moved.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};
ByteRange aligned_range(const Segment& segment);

/// Where to end a piece of `text`, which goes on after it: a number in [1, text.size()].
std::size_t piece_end(std::string_view text);

}  // namespace bora::store
