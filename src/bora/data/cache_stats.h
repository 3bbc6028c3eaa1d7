// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/store/token_cache.h"

namespace bora::data {

/// What a data set is like, by its token cache.
struct CacheStats {
  std::string name;
  std::int64_t documents = 0, tokens = 0;
  std::int64_t bytes = 0;  ///< UTF-8 bytes of text; 0 where there was none
  std::int64_t shortest = 0, median = 0, p95 = 0, longest = 0;  ///< tokens of a document; p95: 95 of 100 are
                                                                ///< at most so long
  /// Documents of [least, 2 * least) tokens, from the shortest to the longest; the first one of 0 or 1.
  struct Bucket {
    std::int64_t least = 0, documents = 0, tokens = 0;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> lengths;
  std::int64_t duplicates = 0;        ///< documents of which an earlier one has the same tokens
  std::int64_t duplicate_tokens = 0;  ///< in these

  double mean() const;
  double duplicate_share() const;  ///< of the documents
};

/// Reads the whole cache once; keeps 24 bytes for each document.
CacheStats cache_stats(const std::string& name, const store::TokenCache& cache);

}  // namespace bora::data
