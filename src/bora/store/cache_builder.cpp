// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_builder.h"

#include <algorithm>
#include <mutex>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/parallel.h"
#include "bora/store/cache_check.h"
#include "bora/store/shard_writer.h"

namespace bora::store {
namespace {

/// Shard files and temporary files without a ledger are what a killed process has left.
void remove_leftovers(const std::string& directory, bool shards_too) {
  for (const auto& name : files().list(directory)) {
    const bool shard =
        name.ends_with(".bin") &&
        (name.starts_with("tokens-") || name.starts_with("offsets-") || name.starts_with("weights-"));
    if (name.ends_with(".tmp") || (shards_too && shard)) files().remove(path_join(directory, name));
  }
}

class Builder {
 public:
  Builder(const std::string& directory, Ledger ledger, const Processor& processor,
          const CacheOptions& options)
      : directory_(directory),
        ledger_(std::move(ledger)),
        processor_(processor),
        options_(options),
        plan_(plan_shards(ledger_.sources, ledger_.shard_bytes)) {
    ledger_.num_shards = static_cast<std::int64_t>(plan_.size());
    for (const auto& source : ledger_.sources)
      progress_.bytes_total += static_cast<std::int64_t>(source.size);
  }

  void run() {
    const auto todo = unfinished();
    parallel_for(
        static_cast<std::int64_t>(todo.size()),
        [&](std::int64_t i) { build(todo[static_cast<std::size_t>(i)]); }, options_.threads);
    if (ledger_.totals().documents == 0) refuse_empty();
    ledger_.is_finished = true;
    write_ledger(directory_, ledger_);
    remove_leftovers(directory_, false);
  }

 private:
  [[noreturn]] void refuse_empty() {
    if (exists(ledger_path(directory_))) files().remove(ledger_path(directory_));
    remove_leftovers(directory_, true);
    fail(ErrorKind::NotFound, "token cache {}: the {} source files hold no document\nhint: the first is {}",
         directory_, ledger_.sources.size(),
         ledger_.sources.empty() ? "missing" : ledger_.sources.front().path);
  }

  std::vector<std::int64_t> unfinished() {
    std::vector<bool> done(plan_.size());
    for (const auto& shard : ledger_.shards) {
      done[static_cast<std::size_t>(shard.index)] = true;
      progress_.counts += shard.counts;
      for (const auto& segment : plan_[static_cast<std::size_t>(shard.index)]) {
        progress_.bytes_done += static_cast<std::int64_t>(segment.end - segment.begin);
      }
    }
    std::vector<std::int64_t> todo;
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (!done[i]) todo.push_back(static_cast<std::int64_t>(i));
    }
    return todo;
  }

  void build(std::int64_t index) {
    const auto report = [this](const ShardProgress& made) { add_progress(made); };
    const ShardRecord record = write_shard(directory_, index, plan_[static_cast<std::size_t>(index)],
                                           ledger_.format, processor_, report);
    files().sync_directory(directory_);
    const std::lock_guard lock(mutex_);
    auto& shards = ledger_.shards;
    shards.insert(std::upper_bound(shards.begin(), shards.end(), record,
                                   [](const auto& a, const auto& b) { return a.index < b.index; }),
                  record);
    // A ledger of n shards has O(n) bytes: writing it after each would be O(n^2).
    if (++unlisted_ * 64 < ledger_.num_shards) return;
    write_ledger(directory_, ledger_);
    unlisted_ = 0;
  }

  void add_progress(const ShardProgress& made) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    // Ranges begin a little after their nominal start, so a continued build may count a few bytes twice.
    progress_.bytes_done = std::min(progress_.bytes_done + made.raw_bytes, progress_.bytes_total);
    progress_.counts += made.counts;
    options_.progress(progress_);
  }

  const std::string& directory_;
  Ledger ledger_;
  const Processor& processor_;
  const CacheOptions& options_;
  std::vector<std::vector<Segment>> plan_;
  std::mutex mutex_;  // guards ledger_, progress_, unlisted_ while workers run
  CacheProgress progress_;
  std::int64_t unlisted_ = 0;
};

Ledger wanted_ledger(const std::vector<std::string>& sources, const Processor& processor,
                     const CacheOptions& options) {
  Ledger ledger;
  ledger.fingerprint = processor.fingerprint();
  ledger.vocab_size = processor.vocab_size();
  ledger.format = options.format;
  ledger.shape = processor.shape();
  if (processor.takes_records()) ledger.format = {.text_key = "", .whole_records = true};
  ledger.sources = look_up_sources(sources);
  ledger.shard_bytes = options.shard_bytes > 0 ? options.shard_bytes : default_shard_bytes(ledger.sources);
  return ledger;
}

std::unique_ptr<FileLock> lock_or_refuse(const std::string& directory) {
  files().make_directories(directory);
  auto lock = files().try_lock(path_join(directory, "lock"));
  if (!lock) {
    fail(ErrorKind::Io,
         "token cache {}: another process is building it\nhint: wait until it is done, or use another "
         "cache_dir",
         directory);
  }
  return lock;
}

}  // namespace

std::shared_ptr<const TokenCache> build_cache(const std::string& directory,
                                              const std::vector<std::string>& sources,
                                              const Processor& processor, const CacheOptions& options) {
  Ledger wanted = wanted_ledger(sources, processor, options);
  // A finished cache is opened without the lock, so that it may lie on a read-only disk.
  auto present = read_ledger(directory);
  if (present && present->is_finished && check_ledger(directory, *present, wanted) == Match::Same) {
    return TokenCache::open(directory);
  }
  const auto lock = lock_or_refuse(directory);
  present = read_ledger(directory);  // the process that held the lock may have finished
  if (present) {
    const Match match = check_ledger(directory, *present, wanted);
    if (match == Match::SameContent) accept_sources(directory, *present, wanted);
    wanted.shard_bytes = present->shard_bytes;
    wanted.shards = present->shards;
  } else {
    remove_leftovers(directory, true);
  }
  if (!present || !present->is_finished) Builder(directory, std::move(wanted), processor, options).run();
  return TokenCache::open(directory);
}

}  // namespace bora::store
