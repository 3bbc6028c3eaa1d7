// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/token_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bora/base/error.h"

namespace bora::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the cache's files are little endian");

constexpr std::string_view kRebuild = "hint: delete the cache directory; it will be built again";

void check_size(const ReadFile& file, const std::string& path, std::uint64_t size) {
  if (file.size() == size) return;
  fail(ErrorKind::Corruption, "{}: has {} bytes but the ledger says {}\n{}", path, file.size(), size,
       kRebuild);
}

template <class T>
void widen(std::span<const std::byte> bytes, std::int64_t first, std::span<std::int32_t> out) {
  const std::byte* from = bytes.data() + static_cast<std::size_t>(first) * sizeof(T);
  for (auto& token : out) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    from += sizeof(T);
    token = static_cast<std::int32_t>(value);
  }
}

void verify_hash(std::span<const std::byte> bytes, const Hash128& hash, const std::string& path) {
  if (hash128(bytes) == hash) return;
  fail(ErrorKind::Corruption, "{}: hash differs from the ledger; the file is damaged\n{}", path, kRebuild);
}

}  // namespace

std::shared_ptr<const TokenCache> TokenCache::open(const std::string& directory) {
  auto ledger = read_ledger(directory);
  if (!ledger) fail(ErrorKind::NotFound, "token cache {}: there is none", directory);
  if (!ledger->is_finished) {
    fail(ErrorKind::Corruption,
         "token cache {}: unfinished, {} of {} shards\nhint: run the same command again to finish it",
         directory, ledger->shards.size(), ledger->num_shards);
  }
  std::shared_ptr<TokenCache> cache(new TokenCache);
  cache->directory_ = directory;
  cache->ledger_ = std::move(*ledger);
  for (const auto& record : cache->ledger_.shards) cache->add_shard(record);
  return cache;
}

void TokenCache::add_shard(const ShardRecord& record) {
  const std::string path = tokens_path(directory_, record.index);
  Shard shard{record, files().open(path), {}, totals_.tokens, totals_.documents};
  const auto width = static_cast<std::uint64_t>(ledger_.bytes_per_token());
  check_size(*shard.file, path, width * static_cast<std::uint64_t>(record.counts.tokens));
  shard.tokens = shard.file->map();
  totals_ += record.counts;
  if (record.counts.tokens > 0 || record.counts.documents > 0) shards_.push_back(std::move(shard));
}

void TokenCache::tokens(std::int64_t begin, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (begin < 0 || begin > num_tokens() - count) {
    fail(ErrorKind::InvalidArgument, "token cache {}: tokens [{}, {}) are outside of its {}", directory_,
         begin, begin + count, num_tokens());
  }
  auto shard = std::upper_bound(shards_.begin(), shards_.end(), begin,
                                [](std::int64_t t, const Shard& s) { return t < s.first_token; });
  if (shard != shards_.begin()) --shard;
  const int width = ledger_.bytes_per_token();
  while (!out.empty()) {
    const std::int64_t first = begin - shard->first_token;
    const auto available = static_cast<std::int64_t>(shard->tokens.size()) / width - first;
    const auto n =
        static_cast<std::size_t>(std::min<std::int64_t>(available, static_cast<std::int64_t>(out.size())));
    if (width == 2)
      widen<std::uint16_t>(shard->tokens, first, out.first(n));
    else
      widen<std::uint32_t>(shard->tokens, first, out.first(n));
    out = out.subspan(n);
    begin += static_cast<std::int64_t>(n);
    ++shard;
  }
}

std::vector<std::int32_t> TokenCache::tokens(std::int64_t begin, std::int64_t count) const {
  std::vector<std::int32_t> out(
      static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, num_tokens() + 1)));
  tokens(begin, out);
  return out;
}

std::int64_t TokenCache::document_begin(std::int64_t d) const { return d == 0 ? 0 : document_end(d - 1); }

std::int64_t TokenCache::document_end(std::int64_t d) const {
  if (d < 0 || d >= num_documents()) {
    fail(ErrorKind::InvalidArgument, "token cache {}: document {} is outside of its {}", directory_, d,
         num_documents());
  }
  auto shard = std::upper_bound(shards_.begin(), shards_.end(), d,
                                [](std::int64_t x, const Shard& s) { return x < s.first_document; });
  --shard;  // the last shard that begins at or before d: it has d, since the ones without documents come
            // before it
  return shard->first_token +
         static_cast<std::int64_t>(read_offset(shard->record, d - shard->first_document));
}

std::uint64_t TokenCache::read_offset(const ShardRecord& record, std::int64_t d) const {
  const std::string path = offsets_path(directory_, record.index);
  const auto file = files().open(path);
  check_size(*file, path, 8 * static_cast<std::uint64_t>(record.counts.documents));
  std::uint64_t end = 0;
  file->read_at(8 * static_cast<std::uint64_t>(d), std::as_writable_bytes(std::span(&end, 1)));
  if (end > static_cast<std::uint64_t>(record.counts.tokens)) {
    fail(ErrorKind::Corruption, "{}: a document ends at token {} of {}\n{}", path, end, record.counts.tokens,
         kRebuild);
  }
  return end;
}

void TokenCache::verify() const {
  for (const auto& record : ledger_.shards) {
    const std::string tokens = tokens_path(directory_, record.index),
                      offsets = offsets_path(directory_, record.index);
    verify_hash(files().open(tokens)->map(), record.tokens, tokens);
    verify_hash(files().open(offsets)->map(), record.offsets, offsets);
  }
}

}  // namespace bora::store
