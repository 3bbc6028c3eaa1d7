// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_share.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/store/partial_shard.h"
#include "bora/store/shard_commits.h"
#include "bora/store/shard_writer.h"

namespace bora::store {
namespace {

std::int64_t bytes_of(const std::vector<Segment>& segments) {
  std::int64_t bytes = 0;
  for (const auto& segment : segments) bytes += static_cast<std::int64_t>(segment.end - segment.begin);
  return bytes;
}

}  // namespace

CacheShare::CacheShare(const std::string& directory, Ledger ledger, const Processor& processor,
                       const CacheOptions& options)
    : directory_(directory),
      ledger_(std::move(ledger)),
      processor_(processor),
      options_(options),
      plan_(plan_shards(ledger_.sources, ledger_.shard_bytes)) {
  ledger_.num_shards = static_cast<std::int64_t>(plan_.size());
  choose();
  if (todo_.empty()) return;
  const int threads = options_.threads > 0 ? options_.threads : hardware_threads();
  commits_.emplace(directory_, static_cast<std::size_t>(threads) + 1,
                   [this](const auto& records) { list(records); });
}

/// Every unfinished shard goes to the worker that has the fewest bytes so far: all choose alike.
void CacheShare::choose() {
  std::vector<bool> done(plan_.size());
  for (const auto& shard : ledger_.shards) {
    done[static_cast<std::size_t>(shard.index)] = true;
    progress_.counts += shard.counts;
    const std::int64_t bytes = bytes_of(plan_[static_cast<std::size_t>(shard.index)]);
    progress_.bytes_done += bytes;
    progress_.bytes_total += bytes;
  }
  std::vector<std::int64_t> load(static_cast<std::size_t>(std::max(1, options_.team.workers)));
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (done[i]) continue;
    const auto least = std::min_element(load.begin(), load.end());
    *least += std::max<std::int64_t>(1, bytes_of(plan_[i]));
    if (least - load.begin() != options_.team.worker) continue;
    todo_.push_back(static_cast<std::int64_t>(i));
    progress_.bytes_total += bytes_of(plan_[i]);
  }
}

CacheProgress CacheShare::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void CacheShare::make(std::int64_t i) {
  const std::int64_t index = todo_[static_cast<std::size_t>(i)];
  const auto report = [this](const ShardProgress& made) { add_progress(made); };
  commits_->add(write_shard(directory_, index, plan_[static_cast<std::size_t>(index)], ledger_.format,
                            processor_, report, ledger_.shard_bytes));
}

void CacheShare::finish() {
  if (commits_) commits_->finish();
  if (unlisted_ > 0 && options_.team.worker > 0) write();  // rank 0's caller writes the whole ledger
}

void CacheShare::keep_what_is_finished() {
  commits_.reset();
  try {
    if (unlisted_ > 0) write();
  } catch (const Error&) {
    unlisted_ = 0;  // these shards will be made again
  }
}

void CacheShare::list(const std::vector<ShardRecord>& records) {
  for (const auto& record : records) add_shard(ledger_, record);
  unlisted_ += static_cast<std::int64_t>(records.size());
  const auto in_parts = [this](const ShardRecord& record) {
    return is_saved_in_parts(plan_[static_cast<std::size_t>(record.index)], ledger_.shard_bytes);
  };
  // A ledger of n shards has O(n) bytes: writing it after each would be O(n^2). But what is saved of a long
  // one must not go before the ledger has the whole.
  const bool long_ones = std::any_of(records.begin(), records.end(), in_parts);
  if (long_ones || unlisted_ * 64 >= ledger_.num_shards) write();
  for (const auto& record : records) {
    if (in_parts(record)) remove_partial_shard(directory_, record.index);
  }
}

void CacheShare::write() {
  if (options_.team.worker == 0)
    write_ledger(directory_, ledger_);
  else
    write_part_ledger(directory_, options_.team.worker, ledger_);
  unlisted_ = 0;
}

void CacheShare::add_progress(const ShardProgress& made) {
  const std::lock_guard lock(mutex_);
  // Ranges begin a little after their nominal start, so a continued build may count a few bytes twice.
  progress_.bytes_done = std::min(progress_.bytes_done + made.raw_bytes, progress_.bytes_total);
  progress_.counts += made.counts;
  if (options_.progress) options_.progress(progress_);
}

void make_shares(std::span<CacheShare* const> shares, int threads) {
  struct Item {
    CacheShare* share;
    std::int64_t shard;
    double place;  // in its share
  };
  std::vector<Item> items;
  for (auto* share : shares) {
    for (std::int64_t i = 0; i < share->size(); ++i)
      items.push_back({share, i, static_cast<double>(i) / static_cast<double>(share->size())});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.place < b.place; });
  try {
    parallel_for(
        static_cast<std::int64_t>(items.size()),
        [&](std::int64_t i) {
          const Item& item = items[static_cast<std::size_t>(i)];
          item.share->make(item.shard);
        },
        threads);
    for (auto* share : shares) share->finish();
  } catch (...) {
    for (auto* share : shares) share->keep_what_is_finished();
    throw;
  }
}

}  // namespace bora::store
