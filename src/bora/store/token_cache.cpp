// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/token_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/map_guard.h"
#include "bora/base/parallel.h"

namespace bora::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the cache's files are little endian");

constexpr std::uint32_t kSign = 1U << 31;

/// With kSign in it if one of the ids is negative or above `last`: no comparison, so that it costs next to
/// nothing beside the reading.
template <class T>
std::uint32_t widen(const std::byte* from, std::span<std::int32_t> out, std::uint32_t last) {
  std::uint32_t signs = 0;
  for (auto& token : out) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    from += sizeof(T);
    const auto id = static_cast<std::uint32_t>(value);
    token = static_cast<std::int32_t>(id);
    signs |= id | (last - id);
  }
  return signs;
}

template <class T>
std::uint32_t widen(const std::byte* from, std::span<float> out, std::uint32_t /*last*/) {
  std::memcpy(out.data(), from, out.size() * sizeof(T));
  return 0;
}

/// The elements of a mapped file from `first` on; returns what widen does. Where the file has become shorter,
/// what follows its end in a page reads as zeros, and the pages behind are gone: so the element behind the
/// last tells whether to ask.
template <class T, class Out>
std::uint32_t read_part(const ReadFile& file, std::span<const std::byte> bytes, std::int64_t first,
                        std::span<Out> out, std::uint32_t last = 0) {
  const std::byte* const from = bytes.data() + static_cast<std::size_t>(first) * sizeof(T);
  const std::byte* const end = from + out.size() * sizeof(T);
  const bool ends_there = end == bytes.data() + bytes.size();
  T next{};
  std::uint32_t signs = 0;
  read_mapped([&] {
    signs = widen<T>(from, out, last);
    if (!ends_there) std::memcpy(&next, end, sizeof(T));
  });
  if (next == T{}) file.refuse_shorter();
  return signs;
}

}  // namespace

TokenCache::TokenCache(std::string directory, Ledger ledger)
    : directory_(std::move(directory)), ledger_(std::move(ledger)) {}

std::shared_ptr<const TokenCache> TokenCache::open(const std::string& directory,
                                                   const CheckOptions& options) {
  auto ledger = read_ledger(directory);
  if (!ledger) fail(ErrorKind::NotFound, "token cache {}: there is none", directory);
  if (!ledger->is_finished) {
    fail(ErrorKind::Corruption,
         "token cache {}: unfinished, {} of {} shards\nhint: run the same command again to finish it",
         directory, ledger->shards.size(), ledger->num_shards);
  }
  std::shared_ptr<TokenCache> cache(new TokenCache(directory, std::move(*ledger)));
  cache->checks_ = std::make_unique<ShardChecks>(cache->directory_, cache->ledger_, options);
  cache->map_shards(cache->checks_.get(), options.threads);
  if (options.workers == 1) cache->remember_checked();
  return cache;
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
  std::shared_ptr<TokenCache> cache(new TokenCache(directory, std::move(*ledger)));
  cache->map_shards(nullptr, 1);
  return cache;
}

void TokenCache::map_shards(ShardChecks* checks, int threads) {
  std::vector<Shard> shards(ledger_.shards.size());
  parallel_for(
      std::ssize(shards),
      [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        shards[at] = mapped(ledger_.shards[at], checks);
      },
      threads);
  for (auto& shard : shards) add(std::move(shard));
}

/// What is checked is what is mapped, whatever happens to the name meanwhile.
TokenCache::Shard TokenCache::mapped(const ShardRecord& record, ShardChecks* checks) const {
  Shard shard{record, {}, {}, {}, {}, {}, {}, 0, 0};
  struct Part {
    std::unique_ptr<ReadFile>* file;
    std::span<const std::byte>* bytes;
  };
  const Part parts[] = {{&shard.file, &shard.tokens},
                        {&shard.offsets_file, &shard.offsets},
                        {&shard.weights_file, &shard.weights}};
  const auto names = files_of_shard(directory_, ledger_, record);
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto& file = *parts[i].file;
    file = files().open(names[i].path);
    if (checks != nullptr) checks->check(record, names[i], *file);
    *parts[i].bytes = file->map();
    require_size(names[i], parts[i].bytes->size(), ledger_);
  }
  return shard;
}

void TokenCache::add(Shard shard) {
  shard.first_token = totals_.tokens;
  shard.first_document = totals_.documents;
  totals_ += shard.record.counts;
  if (shard.record.counts.tokens > 0 || shard.record.counts.documents > 0)
    shards_.push_back(std::move(shard));
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
  const auto last =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(ledger_.vocab_size - 1, 0, kSign - 1));
  for_each_part(begin, out.size(), [&](const Shard& shard, std::int64_t first, std::size_t n) {
    const auto part = out.first(n);
    const std::uint32_t signs = narrow
                                    ? read_part<std::uint16_t>(*shard.file, shard.tokens, first, part, last)
                                    : read_part<std::uint32_t>(*shard.file, shard.tokens, first, part, last);
    if ((signs & kSign) != 0)
      require_known_ids(part, first, tokens_path(directory_, shard.record.index), ledger_);
    out = out.subspan(n);
  });
}

void TokenCache::weights(std::int64_t begin, std::span<float> out) const {
  check_range(begin, out.size());
  if (!weighted()) return std::fill(out.begin(), out.end(), 1.0F);
  for_each_part(begin, out.size(), [&](const Shard& shard, std::int64_t first, std::size_t n) {
    read_part<float>(*shard.weights_file, shard.weights, first, out.first(n));
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
  std::int64_t end = 0;
  read_mapped([&] { end = end_in(*shard, d - shard->first_document); });
  return shard->first_token + end;
}

std::int64_t TokenCache::document_at(std::int64_t t) const {
  if (t < 0 || t >= num_tokens()) {
    fail(ErrorKind::InvalidArgument, "token cache {}: token {} is outside of its {}", directory_, t,
         num_tokens());
  }
  const Shard& shard = shard_of_token(t);
  std::int64_t found = 0;
  read_mapped([&] { found = document_in(shard, t - shard.first_token); });
  return shard.first_document + found;
}

/// The shard's first document that ends behind its token `t`.
std::int64_t TokenCache::document_in(const Shard& shard, std::int64_t t) const {
  std::int64_t low = 0, high = shard.record.counts.documents;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (end_in(shard, middle) > t)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::int64_t TokenCache::end_in(const Shard& shard, std::int64_t d) const {
  std::uint64_t end = 0;
  std::memcpy(&end, shard.offsets.data() + static_cast<std::size_t>(d) * sizeof(end), sizeof(end));
  if (end > static_cast<std::uint64_t>(shard.record.counts.tokens)) fail_end(shard, end);
  if (end == 0 && d > 0) shard.offsets_file->refuse_shorter();  // of an empty document, or behind the end
  return static_cast<std::int64_t>(end);
}

void TokenCache::fail_end(const Shard& shard, std::uint64_t end) const {
  fail(ErrorKind::Corruption, "{}: a document ends at token {} of {}\n{}",
       offsets_path(directory_, shard.record.index), end, shard.record.counts.tokens, what_to_do(ledger_));
}

void TokenCache::verify(CheckOptions options) const {
  options.even_known = true;
  ShardChecks checks(directory_, ledger_, std::move(options));
  checks.check_all();
  checks.remember();
}

void TokenCache::remember_checked() const {
  if (checks_) checks_->remember();
}

}  // namespace bora::store
