// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_build.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/cache_check.h"
#include "bora/store/partial_shard.h"
#include "bora/store/shard_writer.h"

namespace bora::store {
namespace {

constexpr std::string_view kHelperLock = "lock-";
constexpr auto kPause = std::chrono::milliseconds(50);

bool is_shard(std::string_view name) {
  return name.ends_with(".bin") &&
         (name.starts_with("tokens-") || name.starts_with("offsets-") || name.starts_with("weights-"));
}

/// What a killed process has left: temporary files and, without a ledger, shards that nothing lists.
void remove_leftovers(const std::string& directory, bool shards_too) {
  for (const auto& name : files().list(directory)) {
    if (name.ends_with(".tmp") || is_partial_shard(name) ||
        (shards_too && (is_shard(name) || is_part_ledger(name))))
      remove_if_there(path_join(directory, name));
  }
}

/// What several workers need besides the cache itself.
bool is_team_file(std::string_view name) { return is_part_ledger(name) || name.starts_with(kHelperLock); }

bool has_team_files(const std::string& directory) {
  const auto names = files().list(directory);
  return std::any_of(names.begin(), names.end(), is_team_file);
}

void remove_team_files(const std::string& directory) {
  for (const auto& name : files().list(directory)) {
    if (is_team_file(name)) remove_if_there(path_join(directory, name));
  }
}

Ledger wanted_ledger(const std::vector<std::string>& sources, const Processor& processor,
                     const CacheOptions& options) {
  Ledger ledger;
  ledger.fingerprint = processor.fingerprint();
  ledger.tokenizer.text = options.tokenizer;
  ledger.vocab_size = processor.vocab_size();
  ledger.format = options.format;
  ledger.shape = processor.shape();
  if (processor.takes_records()) {
    ledger.format.text_key = "";
    ledger.format.whole_records = true;
  }
  ledger.sources = look_up_sources(sources);
  ledger.shard_bytes = options.shard_bytes > 0 ? options.shard_bytes : default_shard_bytes(ledger.sources);
  return ledger;
}

std::unique_ptr<FileLock> lock_or_refuse(const std::string& directory, const std::string& name) {
  auto lock = files().try_lock(path_join(directory, name));
  if (!lock) {
    fail(ErrorKind::Io,
         "token cache {}: another process is building it\nhint: wait until it is done, or use another "
         "cache_dir",
         directory);
  }
  return lock;
}

}  // namespace

CacheBuild::CacheBuild(std::string directory, const std::vector<std::string>& sources,
                       const Processor& processor, CacheOptions options)
    : directory_(std::move(directory)),
      wanted_(wanted_ledger(sources, processor, options)),
      processor_(processor),
      options_(std::move(options)),
      first_(options_.team.worker == 0) {
  if (options_.team.workers > 1 && !options_.team.any) {
    fail(ErrorKind::InvalidArgument, "token cache {}: a team of {} workers without a way to agree",
         directory_, options_.team.workers);
  }
}

bool CacheBuild::start() {
  bool is_ready = false;
  together([&] { is_ready = holds_the_cache(); });
  if (!any(!is_ready)) return false;
  together([&] {
    if (first_) prepare();
  });
  together([&] {
    if (!first_) join();
  });
  check_present();
  together([&] {
    if (!wanted_.is_finished) share_.emplace(directory_, wanted_, processor_, options_);
  });
  if (share_) return true;
  finish();
  return false;
}

std::shared_ptr<const TokenCache> CacheBuild::open() {
  if (!is_known_) return open_cache(directory_, options_);
  std::shared_ptr<const TokenCache> cache;
  together([&] { cache = TokenCache::open_prefix(directory_); });
  return cache;
}

void CacheBuild::make_share() {
  together([&] {
    CacheShare* const share = &*share_;
    make_shares({&share, 1}, options_.threads);
  });
}

void CacheBuild::finish() {
  together([&] {
    if (first_) complete();
  });
  lock_.reset();
}

void CacheBuild::finish_apart(const std::function<void()>& check) {
  const auto is_ready = [&] {
    if (first_) return all_is_listed();
    const auto ledger = read_ledger(directory_);
    return ledger && ledger->is_finished;
  };
  for (; !is_ready(); std::this_thread::sleep_for(kPause)) check();
  if (first_) complete();
  lock_.reset();
}

bool CacheBuild::any(bool mine) const { return options_.team.workers > 1 ? options_.team.any(mine) : mine; }

/// A finished cache is opened without the lock, so that it may lie on a read-only disk.
bool CacheBuild::holds_the_cache() const {
  const auto present = read_ledger(directory_);
  return present && present->is_finished && check_ledger(directory_, *present, wanted_) == Match::Same;
}

void CacheBuild::prepare() {
  files().make_directories(directory_);
  lock_ = lock_or_refuse(directory_, "lock");
  refuse_other_helpers();
  auto present = read_ledger(directory_);  // the process that held the lock may have finished
  if (present) {
    const std::size_t listed = present->shards.size();
    merge_part_ledgers(directory_, *present);
    const Match match = check_ledger(directory_, *present, wanted_);
    wanted_.shard_bytes = present->shard_bytes;
    wanted_.num_shards = present->num_shards;
    wanted_.is_finished = present->is_finished;
    wanted_.shards = std::move(present->shards);
    if (match == Match::SameContent || wanted_.shards.size() != listed) write_ledger(directory_, wanted_);
  } else {
    remove_leftovers(directory_, true);
    wanted_.num_shards = static_cast<std::int64_t>(plan_shards(wanted_.sources, wanted_.shard_bytes).size());
  }
  const bool others_look = options_.team.workers > 1 && !wanted_.is_finished;
  if (others_look || (!present && saves_parts())) write_ledger(directory_, wanted_);
}

/// Parts of shards are kept only where there is a ledger, which says what they are parts of.
bool CacheBuild::saves_parts() const {
  const auto plan = plan_shards(wanted_.sources, wanted_.shard_bytes);
  return std::any_of(plan.begin(), plan.end(),
                     [&](const auto& segments) { return is_saved_in_parts(segments, wanted_.shard_bytes); });
}

/// A worker that has outlived its team may still be writing shards.
void CacheBuild::refuse_other_helpers() const {
  for (const auto& name : files().list(directory_)) {
    if (name.starts_with(kHelperLock)) lock_or_refuse(directory_, name);
  }
}

void CacheBuild::join() {
  lock_ = lock_or_refuse(directory_, fmt::format("{}{}", kHelperLock, options_.team.worker));
  const auto present = read_ledger(directory_);
  if (!present) fail(ErrorKind::NotFound, "{}: the ledger of rank 0 is not there", directory_);
  wanted_ = *present;
}

/// What an earlier run has left is trusted no more than a finished cache.
void CacheBuild::check_present() {
  std::optional<ShardChecks> checks;
  together([&] {
    checks.emplace(directory_, wanted_, check_options(options_));
    checks->check_all();
  });
  if (options_.team.host_worker == 0) checks->remember();
  is_known_ = true;
}

/// By this worker and the others.
bool CacheBuild::all_is_listed() const {
  Ledger ledger = share_->ledger();
  merge_part_ledgers(directory_, ledger);
  return static_cast<std::int64_t>(ledger.shards.size()) == ledger.num_shards;
}

/// The ledger that says finished is the last thing written: nobody tidies up behind a finished cache.
void CacheBuild::complete() {
  if (share_) wanted_ = share_->ledger();
  if (!wanted_.is_finished) {
    merge_part_ledgers(directory_, wanted_);
    if (wanted_.totals().documents == 0) refuse_empty();
    refuse_changed_sources();
    if (has_team_files(directory_)) write_ledger(directory_, wanted_);
  }
  if (!wanted_.is_finished) remember_built(directory_, wanted_);
  remove_leftovers(directory_, false);
  remove_team_files(directory_);
  if (wanted_.is_finished) return;
  wanted_.is_finished = true;
  write_ledger(directory_, wanted_);
}

/// A cache of half an old and half a new file would look like one of the new file.
void CacheBuild::refuse_changed_sources() {
  std::vector<std::string> paths;
  for (const auto& source : wanted_.sources) paths.push_back(source.path);
  in_context("a source changed while its token cache was being built", [&] {
    Ledger now = wanted_;
    now.sources = look_up_sources(paths);
    if (check_ledger(directory_, wanted_, now) == Match::SameContent)
      wanted_.sources = std::move(now.sources);
  });
}

void CacheBuild::refuse_empty() const {
  if (exists(ledger_path(directory_))) files().remove(ledger_path(directory_));
  remove_leftovers(directory_, true);
  remove_team_files(directory_);
  std::vector<std::string> paths;
  for (const auto& source : wanted_.sources) paths.push_back(source.path);
  if (paths.empty()) fail(ErrorKind::NotFound, "token cache {}: there is no source file", directory_);
  fail(ErrorKind::NotFound, "token cache {}: {} no document\nhint: give files with text", directory_,
       they_hold(paths));
}

}  // namespace bora::store
