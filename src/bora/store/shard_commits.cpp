// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/shard_commits.h"

#include <algorithm>
#include <system_error>

#include "bora/base/file.h"

namespace bora::store {

ShardCommits::ShardCommits(std::string directory, std::size_t most_waiting, List list)
    : directory_(std::move(directory)),
      most_waiting_(std::max<std::size_t>(1, most_waiting)),
      list_(std::move(list)) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    thread_ = {};
  }
}

ShardCommits::~ShardCommits() { close(); }

void ShardCommits::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ShardCommits::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

void ShardCommits::add(WrittenShard shard) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || waiting_.size() < most_waiting_; });
  rethrow();
  waiting_.push_back(std::move(shard));
  if (thread_.joinable()) {
    changed_.notify_all();
    return;
  }
  std::vector<WrittenShard> alone;
  alone.swap(waiting_);
  commit(alone);
}

void ShardCommits::finish() {
  close();
  const std::lock_guard lock(mutex_);
  rethrow();
}

void ShardCommits::commit(std::vector<WrittenShard>& shards) {
  std::vector<ShardRecord> records;
  for (auto& shard : shards) {
    for (auto& file : shard.files) file.make_durable();
    records.push_back(shard.record);
  }
  files().sync_directory(directory_);
  list_(records);
}

void ShardCommits::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty() || error_) return;
    std::vector<WrittenShard> shards;
    shards.swap(waiting_);
    lock.unlock();
    changed_.notify_all();
    std::exception_ptr error;
    try {
      commit(shards);
    } catch (...) {
      error = std::current_exception();
    }
    shards.clear();
    lock.lock();
    if (error) error_ = error;
    changed_.notify_all();
    if (error_) return;
  }
}

}  // namespace bora::store
