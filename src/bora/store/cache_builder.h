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
};

/// The processes that build a cache together, as one of them sees it.
struct CacheTeam {
  int worker = 0;
  int workers = 1;
  /// Collective: waits for every worker, and tells all whether any of them said true. Needed for more than
  /// one worker; called by the thread that called build_cache.
  std::function<bool(bool)> any = {};
};

struct CacheOptions {
  TextFormat format;
  int threads = 0;  ///< 0: hardware_threads(); never changes the result
  std::uint64_t shard_bytes =
      0;  ///< 0: default_shard_bytes(); must stay the same to continue an unfinished cache
  /// Called often, by one thread at a time, with this worker's share of the bytes. What it throws stops the
  /// build, which can be continued later.
  std::function<void(const CacheProgress&)> progress = {};
  CacheTeam team = {};
};

/// Opens the token cache in `directory`, building it or finishing an unfinished one first. Finished shards
/// are never made again, whoever made them. The bytes on disk depend on the sources, the processor and
/// shard_bytes alone, not on threads, workers or the order in which shards are finished.
///
/// With a team, all workers call it with the same arguments and a directory that all see; each makes some of
/// the shards, and all return when the cache is complete.
///
/// Errors: Config if the cache in the directory was made with another tokenizer, format or other sources
/// (which, old and new); NotFound if the sources hold no document; Io if another process is building it;
/// Stopped if another worker of the team failed; whatever reading raises.
std::shared_ptr<const TokenCache> build_cache(const std::string& directory,
                                              const std::vector<std::string>& sources,
                                              const Processor& processor, const CacheOptions& options = {});

}  // namespace bora::store
