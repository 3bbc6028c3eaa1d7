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
  return map_shards(directory, std::move(*ledger));
}

std::shared_ptr<const TokenCache> TokenCache::open_prefix(const std::string& directory, std::int64_t tokens) {
  auto ledger = read_ledger(directory);
  if (!ledger) return nullptr;
  if (!ledger->is_finished) merge_part_ledgers(directory, *ledger);
  auto& shards = ledger->shards;
  const auto gap = std::find_if(shards.begin(), shards.end(),
                                [&](const auto& record) { return record.index != &record - shards.data(); });
  shards.erase(gap, shards.end());
  if (!ledger->is_finished && ledger->totals().tokens < tokens) return nullptr;
  return map_shards(directory, std::move(*ledger));
}

std::shared_ptr<const TokenCache> TokenCache::map_shards(const std::string& directory, Ledger ledger) {
  std::shared_ptr<TokenCache> cache(new TokenCache);
  cache->directory_ = directory;
  cache->ledger_ = std::move(ledger);
  for (const auto& record : cache->ledger_.shards) cache->add_shard(record);
  return cache;
}

void TokenCache::add_shard(const ShardRecord& record) {
  const auto mapped = [&](const std::string& path, std::uint64_t width, std::int64_t count,
                          std::unique_ptr<ReadFile>& file) {
    file = files().open(path);
    check_size(*file, path, width * static_cast<std::uint64_t>(count));
    return file->map();
  };
  const auto width = static_cast<std::uint64_t>(ledger_.bytes_per_token());
  Shard shard{record, {}, {}, {}, {}, {}, {}, totals_.tokens, totals_.documents};
  shard.tokens = mapped(tokens_path(directory_, record.index), width, record.counts.tokens, shard.file);
  shard.offsets = mapped(offsets_path(directory_, record.index), sizeof(std::uint64_t),
                         record.counts.documents, shard.offsets_file);
  if (weighted()) {
    shard.weights = mapped(weights_path(directory_, record.index), sizeof(float), record.counts.tokens,
                           shard.weights_file);
  }
  totals_ += record.counts;
  if (record.counts.tokens > 0 || record.counts.documents > 0) shards_.push_back(std::move(shard));
}

void TokenCache::check_range(std::int64_t begin, std::size_t size) const {
  const auto count = static_cast<std::int64_t>(size);
  if (begin >= 0 && begin <= num_tokens() - count) return;
  fail(ErrorKind::InvalidArgument, "token cache {}: tokens [{}, {}) are outside of its {}", directory_, begin,
       begin + count, num_tokens());
}

const TokenCache::Shard& TokenCache::shard_of_token(std::int64_t t) const {
  auto shard = std::upper_bound(shards_.begin(), shards_.end(), t,
                                [](std::int64_t x, const Shard& s) { return x < s.first_token; });
  return *(shard == shards_.begin() ? shard : shard - 1);
}

/// Calls part(shard, first token in it, tokens) for each shard that has some of the range.
template <class Part>
void TokenCache::for_each_part(std::int64_t begin, std::size_t count, const Part& part) const {
  if (count == 0) return;
  const Shard* shard = &shard_of_token(begin);
  while (count > 0) {
    const std::int64_t first = begin - shard->first_token, available = shard->record.counts.tokens - first;
    const auto n =
        static_cast<std::size_t>(std::min<std::int64_t>(available, static_cast<std::int64_t>(count)));
    part(*shard, first, n);
    begin += static_cast<std::int64_t>(n);
    count -= n;
    ++shard;
  }
}

void TokenCache::tokens(std::int64_t begin, std::span<std::int32_t> out) const {
  check_range(begin, out.size());
  const bool narrow = ledger_.bytes_per_token() == 2;
  for_each_part(begin, out.size(), [&](const Shard& shard, std::int64_t first, std::size_t n) {
    if (narrow)
      widen<std::uint16_t>(shard.tokens, first, out.first(n));
    else
      widen<std::uint32_t>(shard.tokens, first, out.first(n));
    out = out.subspan(n);
  });
}

void TokenCache::weights(std::int64_t begin, std::span<float> out) const {
  check_range(begin, out.size());
  if (!weighted()) return std::fill(out.begin(), out.end(), 1.0F);
  for_each_part(begin, out.size(), [&](const Shard& shard, std::int64_t first, std::size_t n) {
    std::memcpy(out.data(), shard.weights.data() + static_cast<std::size_t>(first) * sizeof(float),
                n * sizeof(float));
    out = out.subspan(n);
  });
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
  return shard->first_token + end_in(*shard, d - shard->first_document, directory_);
}

std::int64_t TokenCache::document_at(std::int64_t t) const {
  if (t < 0 || t >= num_tokens()) {
    fail(ErrorKind::InvalidArgument, "token cache {}: token {} is outside of its {}", directory_, t,
         num_tokens());
  }
  const Shard& shard = shard_of_token(t);
  std::int64_t low = 0, high = shard.record.counts.documents;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (end_in(shard, middle, directory_) > t - shard.first_token)
      high = middle;
    else
      low = middle + 1;
  }
  return shard.first_document + low;
}

std::int64_t TokenCache::end_in(const Shard& shard, std::int64_t d, const std::string& directory) {
  std::uint64_t end = 0;
  std::memcpy(&end, shard.offsets.data() + static_cast<std::size_t>(d) * sizeof(end), sizeof(end));
  if (end > static_cast<std::uint64_t>(shard.record.counts.tokens)) {
    fail(ErrorKind::Corruption, "{}: a document ends at token {} of {}\n{}",
         offsets_path(directory, shard.record.index), end, shard.record.counts.tokens, kRebuild);
  }
  return static_cast<std::int64_t>(end);
}

void TokenCache::verify() const {
  for (const auto& record : ledger_.shards) {
    const std::string tokens = tokens_path(directory_, record.index),
                      offsets = offsets_path(directory_, record.index);
    verify_hash(files().open(tokens)->map(), record.tokens, tokens);
    verify_hash(files().open(offsets)->map(), record.offsets, offsets);
    if (!weighted()) continue;
    const std::string weights = weights_path(directory_, record.index);
    verify_hash(files().open(weights)->map(), record.weights, weights);
  }
}

}  // namespace bora::store
