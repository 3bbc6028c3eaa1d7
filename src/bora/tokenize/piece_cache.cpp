// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/piece_cache.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace bora::tokenize {

PieceCache& thread_piece_cache(std::uint64_t tokenizer) {
  constexpr std::size_t kKept = 3;
  thread_local std::vector<std::pair<std::uint64_t, std::unique_ptr<PieceCache>>> caches;  // latest first
  const auto found =
      std::find_if(caches.begin(), caches.end(), [&](const auto& c) { return c.first == tokenizer; });
  if (found != caches.end()) {
    std::rotate(caches.begin(), found, found + 1);
  } else {
    if (caches.size() == kKept) caches.pop_back();
    caches.insert(caches.begin(), {tokenizer, std::make_unique<PieceCache>()});
  }
  return *caches.front().second;
}

}  // namespace bora::tokenize
