// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/store/cache_builder.h"
#include "bora/store/cache_share.h"

namespace bora::store {

/// build_cache in steps, for those who do something else meanwhile:
///
///     if (build.start()) { build.make_share(); build.finish(); }
///
/// Steps of all workers of a team are separated by votes, so that nobody waits for one that has failed.
/// Errors: those of build_cache.
class CacheBuild {
 public:
  /// The processor must live as long.
  CacheBuild(std::string directory, const std::vector<std::string>& sources, const Processor& processor,
             CacheOptions options);
  CacheBuild(const CacheBuild&) = delete;
  CacheBuild& operator=(const CacheBuild&) = delete;

  /// Collective. False if the cache is complete; else it is locked, and this worker has a share.
  bool start();
  /// Collective.
  void make_share();
  /// Collective: the cache is complete then.
  void finish();
  /// Collective, at the end: the complete cache.
  std::shared_ptr<const TokenCache> open();

  const std::string& directory() const { return directory_; }
  /// For make_shares, in place of make_share().
  CacheShare& share() { return *share_; }
  /// In place of finish(), without a vote and from any thread: returns when the cache is complete. Rank
  /// 0 waits for what the others list, the others for its ledger; `check` is called again and again
  /// meanwhile, and throws when there is nothing left to wait for.
  void finish_apart(const std::function<void()>& check);

 private:
  bool any(bool mine) const;
  void together(const std::function<void()>& step) const { take_step(options_.team, directory_, step); }
  bool holds_the_cache() const;
  void prepare();
  bool saves_parts() const;
  void refuse_other_helpers() const;
  void join();
  void check_present();
  void refuse_changed_sources();
  bool all_is_listed() const;
  void complete();
  [[noreturn]] void refuse_empty() const;

  const std::string directory_;
  Ledger wanted_;
  const Processor& processor_;
  const CacheOptions options_;
  const bool first_;
  bool is_known_ = false;  // every shard has been checked or made by this team
  std::unique_ptr<FileLock> lock_;
  std::optional<CacheShare> share_;
};

/// What checking takes of the options: progress is told as such.
CheckOptions check_options(const CacheOptions& options);

}  // namespace bora::store
