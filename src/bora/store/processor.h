// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/documents.h"

namespace bora::store {

/// What a cache holds besides token ids.
struct CacheShape {
  bool weighted = false;                  ///< a loss weight for each token
  std::int64_t documents_per_record = 1;  ///< 2: pairs, the preferred one first
  bool operator==(const CacheShape&) const = default;
};

/// The documents that one record of a jsonl file became.
struct EncodedRecord {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;     ///< how much predicting each id counts; empty unless weighted
  std::vector<std::size_t> ends;  ///< of each document, in ids
  std::int64_t text_bytes = 0;    ///< of what the ids stand for
  void clear();
};

/// Turns documents into token ids. Any number of threads may call encode and encode_record.
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

  /// True: records are JSON objects, read whole and given to encode_record; encode is never called.
  virtual bool takes_records() const { return false; }
  virtual CacheShape shape() const { return {}; }
  /// Adds the shape's number of documents to `out`, or none to leave the record out. Errors: Corruption for a
  /// record that is not what it should be; the caller adds file and line.
  virtual void encode_record(std::string_view json, EncodedRecord& out) const;
};

}  // namespace bora::store
