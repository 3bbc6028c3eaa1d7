// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_builder.h"

#include <exception>

#include "bora/base/error.h"
#include "bora/store/cache_build.h"

namespace bora::store {

std::shared_ptr<const TokenCache> build_cache(const std::string& directory,
                                              const std::vector<std::string>& sources,
                                              const Processor& processor, const CacheOptions& options) {
  CacheBuild build(directory, sources, processor, options);
  if (build.start()) {
    build.make_share();
    build.finish();
  }
  return build.open();
}

std::shared_ptr<const TokenCache> open_cache(const std::string& directory, const CacheOptions& options) {
  std::shared_ptr<const TokenCache> cache;
  take_step(options.team, directory, [&] { cache = TokenCache::open(directory, check_options(options)); });
  if (options.team.host_worker == 0) cache->remember_checked();
  return cache;
}

CheckOptions check_options(const CacheOptions& options) {
  CheckOptions out{options.threads, options.team.host_worker, options.team.host_workers, false, {}};
  if (options.progress) {
    out.progress = [report = options.progress](std::int64_t done, std::int64_t total) {
      report({.bytes_done = done, .bytes_total = total, .counts = {}, .checks = true});
    };
  }
  return out;
}

void take_step(const CacheTeam& team, const std::string& directory, const std::function<void()>& step) {
  std::exception_ptr error;
  try {
    step();
  } catch (...) {
    if (team.workers == 1) throw;
    error = std::current_exception();
  }
  const bool failed = team.workers > 1 && team.any(error != nullptr);
  if (error) std::rethrow_exception(error);
  if (failed) {
    fail(ErrorKind::Stopped,
         "token cache {}: another of the {} workers that build or read it failed\nhint: its own message says "
         "why; what is finished is kept",
         directory, team.workers);
  }
}

}  // namespace bora::store
