// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "bora/checkpoint/checkpoint.h"

namespace bora::checkpoint {

/// What one save cost the training thread.
struct SaveStall {
  double waited = 0;  ///< seconds until the save before it was written
  double copied = 0;  ///< seconds of copying into the snapshot buffer
  double total() const { return waited + copied; }
};

/// Writes checkpoints on a thread of its own: training stops only while arrays are copied into a snapshot
/// buffer, which is kept and reused (arrays that are `owned` are not copied). One save at a time; a second
/// one waits for the first. An error of the thread is thrown by the next call. Used by one thread.
class AsyncWriter {
 public:
  explicit AsyncWriter(std::string run_directory, SaveOptions options = {});
  /// Waits. An error that nobody has asked for is logged.
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  /// Makes the snapshot buffer large enough beforehand, so that the first save stops training no longer than
  /// the rest.
  void reserve(std::uint64_t bytes);

  /// Copies, returns, writes. `committed` runs on the writer's thread once the checkpoint is visible; what it
  /// throws counts as an error of the save.
  SaveStall save(const CheckpointContent& content, std::function<void(const Manifest&)> committed = {});
  /// Returns once nothing is being written.
  void wait();
  void join();  ///< the same, and leaves what failed
  /// The same, and gives what failed instead of throwing it: empty if nothing did.
  std::string settle();
  /// What the last write has failed with, which the next call above will tell; "": nothing so far. Does not wait.
  std::string failure() const;

  double last_write_seconds() const { return write_seconds_; }  ///< of the last finished save; after wait()
  std::uint64_t snapshot_bytes() const { return capacity_; }

 private:
  void take_snapshot(CheckpointView& view);

  std::string run_directory_;
  SaveOptions options_;
  std::unique_ptr<std::byte[]> snapshot_;
  std::uint64_t capacity_ = 0;
  std::atomic<bool> given_up_{false}, has_failed_{false};
  std::thread thread_;
  std::exception_ptr error_;  // written by the thread, read after joining it, or once has_failed_ is set
  double write_seconds_ = 0;
};

}  // namespace bora::checkpoint
