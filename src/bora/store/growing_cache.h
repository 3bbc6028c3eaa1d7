// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bora/store/token_cache.h"

namespace bora::store {

/// A token cache that other threads or processes are still building, as far as all of them have come: the
/// shards from the first on without a gap. They never change, so what is read of them is what the finished
/// cache holds. Any number of threads may call it.
class GrowingCache {
 public:
  /// `check` is called again and again while somebody waits: it throws if the build has failed, or if it is
  /// time to stop.
  GrowingCache(std::string directory, std::function<void()> check)
      : directory_(std::move(directory)), check_(std::move(check)) {}

  /// The part that is there, with at least `tokens` tokens, or the finished cache; waits for it.
  /// ledger().is_finished tells which. Errors: what `check` throws.
  std::shared_ptr<const TokenCache> at_least(std::int64_t tokens) const;
  std::shared_ptr<const TokenCache> whole() const;  ///< the finished cache; waits for it
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::function<void()> check_;
};

}  // namespace bora::store
