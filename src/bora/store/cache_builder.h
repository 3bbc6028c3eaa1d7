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

struct CacheOptions {
  TextFormat format;
  int threads = 0;  ///< 0: hardware_threads(); never changes the result
  std::uint64_t shard_bytes =
      0;  ///< 0: default_shard_bytes(); must stay the same to continue an unfinished cache
  /// Called often, by one thread at a time. What it throws stops the build, which can be continued later.
  std::function<void(const CacheProgress&)> progress = {};
};

/// Opens the token cache in `directory`, building it or finishing an unfinished one first. Finished shards
/// are never made again. The bytes on disk depend on the sources, the processor and shard_bytes alone.
///
/// Errors: Config if the cache in the directory was made with another tokenizer, format or other sources
/// (which, old and new); NotFound if the sources hold no document; Io if another process is building it;
/// whatever reading raises.
std::shared_ptr<const TokenCache> build_cache(const std::string& directory,
                                              const std::vector<std::string>& sources,
                                              const Processor& processor, const CacheOptions& options = {});

}  // namespace bora::store
