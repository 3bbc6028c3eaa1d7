// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/store/shard_check.h"

namespace bora::store {

/// A finished token cache, memory-mapped: all documents as one sequence of token ids. Any number of threads
/// may read.
class TokenCache {
 public:
  /// At first use every file is read and compared with its hash, and every id with the vocabulary; later only
  /// what has changed since, by size, date and inode. Several workers open it together by open_cache.
  /// Errors: NotFound if there is no cache; Corruption if it is unfinished, or one of its files is not what
  /// its ledger says.
  static std::shared_ptr<const TokenCache> open(const std::string& directory,
                                                const CheckOptions& options = {});
  /// The same of a cache that one or several workers are still building, or have just built: its finished
  /// shards up to the first that is missing. Null if there is none, or if it has fewer than so many tokens
  /// and more are to come. See GrowingCache. Nothing is read: who builds a cache hashes what it writes.
  static std::shared_ptr<const TokenCache> open_prefix(const std::string& directory, std::int64_t tokens = 0);

  const std::string& directory() const { return directory_; }
  const Ledger& ledger() const { return ledger_; }
  std::int64_t num_tokens() const { return totals_.tokens; }
  std::int64_t num_documents() const { return totals_.documents; }
  std::int64_t num_bytes() const { return totals_.bytes; }  ///< of UTF-8 text
  bool weighted() const { return ledger_.shape.weighted; }

  /// Tokens [begin, begin + out.size()), each below ledger().vocab_size. Errors: InvalidArgument out of
  /// range; Corruption if there is another id, or if a file has become shorter.
  void tokens(std::int64_t begin, std::span<std::int32_t> out) const;
  std::vector<std::int32_t> tokens(std::int64_t begin, std::int64_t count) const;

  /// How much predicting each of the tokens [begin, begin + out.size()) counts: 1 unless weighted().
  /// Errors: InvalidArgument out of range.
  void weights(std::int64_t begin, std::span<float> out) const;

  /// The token at which document `d` of [0, num_documents()) begins, and the one after its last. O(log
  /// shards). Errors: InvalidArgument out of range; Corruption if the file says what cannot be.
  std::int64_t document_begin(std::int64_t d) const;
  std::int64_t document_end(std::int64_t d) const;
  /// The document that token `t` of [0, num_tokens()) is in: the first that ends after it; num_documents() if
  /// none does. O(log documents).
  std::int64_t document_at(std::int64_t t) const;

  /// Reads every file, whatever is known of it. Errors: Corruption that names the file.
  void verify(CheckOptions options = {}) const;
  /// After every worker that shares the disk has opened its share: the next start reads nothing.
  void remember_checked() const;

 private:
  struct Shard {
    ShardRecord record;
    std::unique_ptr<ReadFile> file, offsets_file, weights_file;
    std::span<const std::byte> tokens, offsets, weights;
    std::int64_t first_token = 0, first_document = 0;
  };
  TokenCache(std::string directory, Ledger ledger);
  void map_shards(ShardChecks* checks, int threads);
  Shard mapped(const ShardRecord& record, ShardChecks* checks) const;
  void add(Shard shard);
  const Shard& shard_of_token(std::int64_t t) const;
  std::int64_t end_in(const Shard& shard, std::int64_t d) const;
  std::int64_t document_in(const Shard& shard, std::int64_t t) const;
  [[noreturn]] void fail_end(const Shard& shard, std::uint64_t end) const;
  void check_range(std::int64_t begin, std::size_t count) const;
  template <class Part>
  void for_each_part(std::int64_t begin, std::size_t count, const Part& part) const;

  std::string directory_;
  Ledger ledger_;
  TokenCounts totals_;
  std::unique_ptr<ShardChecks> checks_;  // what open() has found out
  std::vector<Shard> shards_;            // those with tokens or documents, in order
};

}  // namespace bora::store
