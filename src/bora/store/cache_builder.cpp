// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_builder.h"

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
  return TokenCache::open(directory);
}

}  // namespace bora::store
