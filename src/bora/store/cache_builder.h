// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bora/store/processor.h"
#include "bora/store/token_cache.h"

namespace bora::store {

struct CacheProgress {
  std::int64_t bytes_done = 0;  ///< of raw source, compressed or not
  std::int64_t bytes_total = 0;
  TokenCounts counts;
  /// Nothing is made: bytes are of finished shards, which this worker compares with their hashes.
  bool checks = false;
};

/// The processes that build a cache together, as one of them sees it.
struct CacheTeam {
  int worker = 0;  ///< the rank
  int workers = 1;
  /// Collective: waits for every worker, and tells all whether any of them said true. Needed for more than
  /// one worker; called by the thread that called build_cache.
  std::function<bool(bool)> any = {};
  /// Among the workers of its host, which see the same disk: they share what need be done once a host.
  int host_worker = 0, host_workers = 1;
};

struct CacheOptions {
  TextFormat format;
  int threads = 0;  ///< 0: hardware_threads(); never changes the result
  std::uint64_t shard_bytes =
      0;  ///< 0: default_shard_bytes(); must stay the same to continue an unfinished cache
  /// Called often, by one thread at a time, with this worker's share of the bytes: first of shards that are
  /// there and have not been checked, then of those to make. What it throws stops the
  /// build, which can be continued later.
  std::function<void(const CacheProgress&)> progress = {};
  CacheTeam team = {};
  std::string tokenizer = {};  ///< what people call it: the ledger keeps it for messages
};

/// Opens the token cache in `directory`, building it or finishing an unfinished one first. Finished shards
/// are never made again, whoever made them. The bytes on disk depend on the sources, the processor and
/// shard_bytes alone, not on threads, workers or the order in which shards are finished.
///
/// With a team, all workers call it with the same arguments and a directory that all see; each makes some of
/// the shards, and all return when the cache is complete.
///
/// Errors: Config if the cache in the directory was made with another tokenizer, format or other sources
/// (which, old and new), or if a source changes while it is being built; NotFound if the sources hold no
/// document; Io if another process is building it; Corruption if a shard is not what was written; Stopped if
/// another worker of the team failed; whatever reading raises.
std::shared_ptr<const TokenCache> build_cache(const std::string& directory,
                                              const std::vector<std::string>& sources,
                                              const Processor& processor, const CacheOptions& options = {});

/// TokenCache::open by a team (collective; of `options` nothing else counts but threads and progress): the
/// workers of a host check it together. Errors: those of TokenCache::open; Stopped if another worker failed.
std::shared_ptr<const TokenCache> open_cache(const std::string& directory, const CacheOptions& options);

/// Runs a step that the workers of a team take together. Errors: what the step throws; Stopped if that of
/// another worker did.
void take_step(const CacheTeam& team, const std::string& directory, const std::function<void()>& step);

}  // namespace bora::store
