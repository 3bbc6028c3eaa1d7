// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bora/store/shard_writer.h"

namespace bora::store {

/// Makes finished shards durable behind the back of those who make them: a thread of its own waits for the
/// disk, and takes all shards that have come meanwhile at once. Any number of threads may call add.
class ShardCommits {
 public:
  /// `list` gets the records of shards that are safe; it is called by one thread.
  using List = std::function<void(const std::vector<ShardRecord>&)>;
  /// At most `most_waiting` shards (and their open files) wait; then add does.
  ShardCommits(std::string directory, std::size_t most_waiting, List list);
  ~ShardCommits();  ///< commits what waits unless something went wrong; errors are lost
  ShardCommits(const ShardCommits&) = delete;
  ShardCommits& operator=(const ShardCommits&) = delete;

  /// Errors: what committing this or an earlier shard threw.
  void add(WrittenShard shard);
  /// Waits until all are listed. Errors: as above. Nothing may be added afterwards.
  void finish();

 private:
  void work();
  void commit(std::vector<WrittenShard>& shards);
  void rethrow();  // with mutex_ held
  void close();

  const std::string directory_;
  const std::size_t most_waiting_;
  const List list_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<WrittenShard> waiting_;
  bool closing_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // not there if the system has no thread left: then add commits
};

}  // namespace bora::store
