// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/store/cache_builder.h"
#include "bora/store/ledger.h"
#include "bora/store/shard_commits.h"

namespace bora::store {

/// The shards of a cache that one rank of a team makes. Rank 0 lists what it has made in the cache's ledger,
/// every other rank in its part ledger.
class CacheShare {
 public:
  /// `ledger`: as it is on disk; what it lists is made. `directory`, `processor` and `options` must live as
  /// long.
  CacheShare(const std::string& directory, Ledger ledger, const Processor& processor,
             const CacheOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(todo_.size()); }  ///< shards to make
  const Ledger& ledger() const { return ledger_; }  ///< not while shards are being made
  CacheProgress progress() const;

  /// Makes shard `i` of [0, size()); any number of threads at a time.
  void make(std::int64_t i);
  /// After all have been made: lists them.
  void finish();
  /// In place of finish(), after an error, which is the one to be told: lists what is finished.
  void keep_what_is_finished();

 private:
  void choose();
  void list(const std::vector<ShardRecord>& records);
  void write();
  void add_progress(const ShardProgress& made);

  const std::string& directory_;
  Ledger ledger_;
  const Processor& processor_;
  const CacheOptions& options_;
  std::vector<std::vector<Segment>> plan_;
  std::vector<std::int64_t> todo_;
  std::int64_t unlisted_ = 0;
  std::optional<ShardCommits> commits_;
  mutable std::mutex mutex_;  // guards progress_ while workers run
  CacheProgress progress_;
};

/// Makes and finishes several shares, in so many threads (0: hardware_threads()): each in its order, and all
/// of them at one rate, so that no cache waits for another. After an error what is finished is listed.
void make_shares(std::span<CacheShare* const> shares, int threads);

}  // namespace bora::store
