// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/growing_cache.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace bora::store {

std::shared_ptr<const TokenCache> GrowingCache::at_least(std::int64_t tokens) const {
  constexpr auto kShortest = std::chrono::milliseconds(10), kLongest = std::chrono::milliseconds(200);
  for (auto pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    if (auto cache = TokenCache::open_prefix(directory_, tokens)) return cache;
    check_();
    std::this_thread::sleep_for(pause);
  }
}

std::shared_ptr<const TokenCache> GrowingCache::whole() const {
  return at_least(std::numeric_limits<std::int64_t>::max());
}

}  // namespace bora::store
