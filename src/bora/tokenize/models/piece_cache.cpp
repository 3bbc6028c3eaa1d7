// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/piece_cache.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bora::tokenize {

void PieceCache::put(const PieceKey& key, const std::int32_t* ids, std::size_t count) {
  const bool many = count > kIds;
  if (many) put_long(key.text().view(), ids, count);
  if (++puts_ > short_.size() && short_.size() < kMostBuckets) grow();
  Bucket& bucket = short_[bucket_of(key)];
  bucket.entries[1] = bucket.entries[0];
  Entry& e = bucket.entries[0];
  e = {key.low, key.high | (static_cast<std::uint64_t>(many ? kLong : count) << 60), {}};
  if (!many) std::copy(ids, ids + count, e.ids.begin());
}

void PieceCache::grow() {
  std::vector<Bucket> old(short_.size() * 4);
  std::swap(old, short_);
  shift_ -= 2;
  for (const Bucket& bucket : old) {
    for (std::size_t i = bucket.entries.size(); i-- > 0;) {  // the older one first
      const Entry& e = bucket.entries[i];
      if (e.high == 0) continue;
      Bucket& there = short_[bucket_of({e.low, e.high & ~kCountBits})];
      there.entries[1] = there.entries[0];
      there.entries[0] = e;
    }
  }
}

PieceCache::Ids PieceCache::find_long(std::string_view piece) const {
  if (long_.empty()) return {};
  const std::uint64_t hash = std::hash<std::string_view>{}(piece);
  const LongEntry& e = long_[long_slot(hash)];
  if (e.hash != hash || std::string_view(keys_).substr(e.key, e.key_size) != piece) return {};
  return {ids_.data() + e.ids, e.id_count};
}

void PieceCache::put_long(std::string_view piece, const std::int32_t* ids, std::size_t count) {
  if (piece.size() > kLongest) return;
  if (long_.empty() || keys_.size() + piece.size() > kArena || ids_.size() + count > kArena / 4) {
    keys_.clear();
    ids_.clear();
    long_.assign(kLongSlots, {});
  }
  const std::uint64_t hash = std::hash<std::string_view>{}(piece);
  long_[long_slot(hash)] = {hash, static_cast<std::uint32_t>(keys_.size()),
                            static_cast<std::uint32_t>(piece.size()), static_cast<std::uint32_t>(ids_.size()),
                            static_cast<std::uint32_t>(count)};
  keys_ += piece;
  ids_.insert(ids_.end(), ids, ids + count);
}

namespace {

using Owned = std::pair<std::uint64_t, std::unique_ptr<PieceCache>>;

/// What ended threads have left, for the next ones: a batch starts its threads anew, and they would all begin
/// with nothing.
class Pool {
 public:
  static Pool& get() {
    static auto* pool = new Pool;  // never destroyed: threads may end after main
    return *pool;
  }

  std::unique_ptr<PieceCache> take(std::uint64_t tokenizer) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(caches_.rbegin(), caches_.rend(), [&](const auto& c) { return c.first == tokenizer; });
    if (found == caches_.rend()) return std::make_unique<PieceCache>();
    auto cache = std::move(found->second);
    caches_.erase(std::next(found).base());
    return cache;
  }

  void leave(Owned cache) {
    const std::lock_guard lock(mutex_);
    if (caches_.size() == kMost) caches_.erase(caches_.begin());
    caches_.push_back(std::move(cache));
  }

 private:
  static constexpr std::size_t kMost = 8;
  std::mutex mutex_;
  std::vector<Owned> caches_;  // latest last
};

struct ThreadCaches {
  ~ThreadCaches() {
    for (auto& cache : caches) Pool::get().leave(std::move(cache));
  }
  std::vector<Owned> caches;  // latest first
};

}  // namespace

PieceCache& thread_piece_cache(std::uint64_t tokenizer) {
  constexpr std::size_t kKept = 3;
  thread_local ThreadCaches mine;
  auto& caches = mine.caches;
  const auto found =
      std::find_if(caches.begin(), caches.end(), [&](const auto& c) { return c.first == tokenizer; });
  if (found != caches.end()) {
    std::rotate(caches.begin(), found, found + 1);
  } else {
    if (caches.size() == kKept) caches.pop_back();
    caches.insert(caches.begin(), {tokenizer, Pool::get().take(tokenizer)});
  }
  return *caches.front().second;
}

}  // namespace bora::tokenize
