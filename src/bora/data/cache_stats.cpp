// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/cache_stats.h"

#include <algorithm>
#include <bit>

#include "bora/base/hash.h"

namespace bora::data {
namespace {

struct Document {
  Hash128 hash;
  std::int64_t tokens = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the 0 of <=> for a pointer
  auto operator<=>(const Document&) const = default;
};

Hash128 hash_tokens(const store::TokenCache& cache, std::int64_t begin, std::int64_t end,
                    std::vector<std::int32_t>& buffer) {
  constexpr std::int64_t kPiece = 1 << 20;
  Hasher hasher;
  for (; begin < end; begin += kPiece) {
    buffer.resize(static_cast<std::size_t>(std::min(kPiece, end - begin)));
    cache.tokens(begin, buffer);
    hasher.update(std::as_bytes(std::span<const std::int32_t>(buffer)));
  }
  return hasher.digest();
}

void add_length(CacheStats& stats, std::int64_t tokens) {
  const auto bucket =
      tokens < 2 ? 0U : static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(tokens)) - 1);
  while (stats.lengths.size() <= bucket) {
    const auto n = stats.lengths.size();
    stats.lengths.push_back({n == 0 ? 0 : std::int64_t{1} << n, 0, 0});
  }
  ++stats.lengths[bucket].documents;
  stats.lengths[bucket].tokens += tokens;
}

void count_duplicates(CacheStats& stats, std::vector<Document>& documents) {
  std::sort(documents.begin(), documents.end());
  for (std::size_t i = 1; i < documents.size(); ++i) {
    if (documents[i] != documents[i - 1]) continue;
    ++stats.duplicates;
    stats.duplicate_tokens += documents[i].tokens;
  }
}

}  // namespace

double CacheStats::mean() const {
  return documents > 0 ? static_cast<double>(tokens) / static_cast<double>(documents) : 0;
}

double CacheStats::duplicate_share() const {
  return documents > 0 ? static_cast<double>(duplicates) / static_cast<double>(documents) : 0;
}

CacheStats cache_stats(const std::string& name, const store::TokenCache& cache) {
  CacheStats stats;
  stats.name = name;
  stats.documents = cache.num_documents();
  stats.tokens = cache.num_tokens();
  stats.bytes = cache.num_bytes();
  std::vector<Document> documents;
  documents.reserve(static_cast<std::size_t>(stats.documents));
  std::vector<std::int32_t> buffer;
  std::int64_t begin = 0;
  for (std::int64_t d = 0; d < stats.documents; ++d) {
    const std::int64_t end = cache.document_end(d);
    documents.push_back({hash_tokens(cache, begin, end, buffer), end - begin});
    add_length(stats, end - begin);
    begin = end;
  }
  if (documents.empty()) return stats;
  count_duplicates(stats, documents);
  std::sort(documents.begin(), documents.end(),
            [](const Document& a, const Document& b) { return a.tokens < b.tokens; });
  const std::size_t last = documents.size() - 1;
  stats.shortest = documents.front().tokens;
  stats.median = documents[last / 2].tokens;
  stats.p95 = documents[last * 95 / 100].tokens;
  stats.longest = documents.back().tokens;
  return stats;
}

}  // namespace bora::data
