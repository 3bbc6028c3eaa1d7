// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "bora/store/cache_builder.h"
#include "bora/store/ledger.h"
#include "bora/store/shard_commits.h"

namespace bora::store {

/// The shards of a cache that one worker of a team makes, in all its threads. The first worker lists what it
/// has made in the cache's ledger, every other in its part ledger.
class CacheShare {
 public:
  /// `ledger`: as it is on disk; what it lists is made.
  CacheShare(const std::string& directory, Ledger ledger, const Processor& processor,
             const CacheOptions& options);
  /// Makes the share. After an error, what has been finished is listed all the same.
  void run();
  const Ledger& ledger() const { return ledger_; }

 private:
  void choose();
  void build(std::int64_t index, ShardCommits& commits);
  void keep_what_is_finished();
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
  std::mutex mutex_;  // guards progress_ while workers run
  CacheProgress progress_;
};

}  // namespace bora::store
