// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/store/ledger.h"

namespace bora::store {

/// A finished token cache, memory-mapped: all documents as one sequence of token ids. Any number of threads
/// may read.
class TokenCache {
 public:
  /// Errors: NotFound if there is no cache; Corruption if it is unfinished or a file of tokens has another
  /// size than its ledger says. Contents are not read; verify() does.
  static std::shared_ptr<const TokenCache> open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const Ledger& ledger() const { return ledger_; }
  std::int64_t num_tokens() const { return totals_.tokens; }
  std::int64_t num_documents() const { return totals_.documents; }
  std::int64_t num_bytes() const { return totals_.bytes; }  ///< of UTF-8 text

  /// Tokens [begin, begin + out.size()). Errors: InvalidArgument out of range.
  void tokens(std::int64_t begin, std::span<std::int32_t> out) const;
  std::vector<std::int32_t> tokens(std::int64_t begin, std::int64_t count) const;

  /// The token at which document `d` of [0, num_documents()) begins, and the one after its last. Each call
  /// opens a file: for inspection, not for a training loop.
  std::int64_t document_begin(std::int64_t d) const;
  std::int64_t document_end(std::int64_t d) const;

  /// Reads every file and compares it with its hash. Errors: Corruption that names the file.
  void verify() const;

 private:
  struct Shard {
    ShardRecord record;
    std::unique_ptr<ReadFile> file;
    std::span<const std::byte> tokens;
    std::int64_t first_token = 0, first_document = 0;
  };
  TokenCache() = default;
  void add_shard(const ShardRecord& record);
  std::uint64_t read_offset(const ShardRecord& record, std::int64_t d) const;

  std::string directory_;
  Ledger ledger_;
  TokenCounts totals_;
  std::vector<Shard> shards_;  // those with tokens or documents, in order
};

}  // namespace bora::store
