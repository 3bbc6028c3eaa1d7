// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "bora/data/loader.h"

namespace bora::data {

struct PrefetchOptions {
  std::int64_t depth = 4;  ///< batches kept ready
  /// The rows to read of each batch; empty: all. Called by the reading thread.
  Loader::Wanted wanted = {};
};

/// Reads a loader's batches ahead of their use, in one thread. What reading throws comes out of next(), at
/// the batch that it belongs to. For one consumer.
class Prefetcher {
 public:
  Prefetcher(Loader loader, std::int64_t first_step, PrefetchOptions options = {});
  ~Prefetcher();  ///< does not wait for more than the batch being read
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The batch of the next step; nothing after the last one of a dataset that ends. After an error, and after
  /// the end, seek() starts again.
  std::optional<Batch> next();
  bool ready();  ///< whether next() would not wait
  /// Goes on from another step. What was read ahead is dropped.
  void seek(std::int64_t step);

  double waited_seconds() const { return waited_; }  ///< by next(), in total

 private:
  void start(std::int64_t step);
  void stop();
  void read_ahead(std::int64_t step);
  /// Waits for room; false when it is time to stop.
  bool push(std::optional<Batch> batch, std::exception_ptr error);

  struct Item {
    std::optional<Batch> batch;
    std::exception_ptr error;
  };
  Loader loader_;
  PrefetchOptions options_;
  double waited_ = 0;
  std::thread thread_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::deque<Item> ready_;
  bool stopping_ = false;
};

}  // namespace bora::data
