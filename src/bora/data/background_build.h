// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bora/store/cache_builder.h"
#include "bora/store/growing_cache.h"

namespace bora::data {

/// Token caches that a thread of its own builds, one after the other, while others read what is there. Kept
/// alive by the caches that add() gives; when all are gone, the build stops, and is continued by the next.
class BackgroundBuild : public std::enable_shared_from_this<BackgroundBuild> {
 public:
  ~BackgroundBuild();
  /// One more cache to build, before start(). `name`: of its data set, for errors.
  std::shared_ptr<const store::GrowingCache> add(std::string name, std::string directory,
                                                 std::vector<std::string> sources,
                                                 std::shared_ptr<const store::Processor> processor,
                                                 store::CacheOptions options);
  void start();

 private:
  struct Task {
    std::string name, directory;
    std::vector<std::string> sources;
    std::shared_ptr<const store::Processor> processor;
    store::CacheOptions options;
  };
  void work();
  void check() const;  ///< throws what the build has thrown

  std::vector<Task> tasks_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::exception_ptr error_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace bora::data
