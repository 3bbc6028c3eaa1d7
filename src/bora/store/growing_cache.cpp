// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/growing_cache.h"

#include <chrono>
#include <thread>

namespace bora::store {

std::shared_ptr<const TokenCache> GrowingCache::at_least(std::int64_t tokens) const {
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (;; std::this_thread::sleep_for(kPause)) {
    if (auto cache = TokenCache::open_prefix(directory_)) {
      if (cache->ledger().is_finished || cache->num_tokens() >= tokens) return cache;
    }
    check_();
  }
}

}  // namespace bora::store
