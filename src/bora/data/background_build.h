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

#include "bora/store/cache_build.h"
#include "bora/store/growing_cache.h"

namespace bora::data {

/// Token caches that threads of their own build at a low priority, all at one rate, while others read what is
/// there. Kept alive by the caches that add() gives. Any thread may call what is const.
class BackgroundBuild : public std::enable_shared_from_this<BackgroundBuild> {
 public:
  ~BackgroundBuild();  ///< stop()

  /// For the options of what is added: how the build notices that it should stop.
  std::function<void(const store::CacheProgress&)> pulse();
  /// One more cache, whose build has started, before run(). One that is not `urgent` comes after all that
  /// are.
  std::shared_ptr<const store::GrowingCache> add(std::shared_ptr<const store::Processor> processor,
                                                 std::unique_ptr<store::CacheBuild> build, bool urgent);
  bool empty() const { return tasks_.empty(); }
  void run(int threads);  ///< 0: hardware_threads()
  /// Ends the threads within the next piece of text; whoever waits for a cache gets a Stopped error. The next
  /// start goes on.
  void stop();

  bool is_complete() const { return complete_; }  ///< all of them
  void check() const;                             ///< throws what a build has thrown
  store::CacheProgress progress() const;          ///< this worker's share of all of them

 private:
  struct Task {
    std::shared_ptr<const store::Processor> processor;  // outlives the build
    std::unique_ptr<store::CacheBuild> build;
    bool urgent;
  };
  void work(int threads);
  void build(bool urgent, int threads);
  void refuse_to_go_on() const;

  std::vector<Task> tasks_;
  std::atomic<bool> stopping_{false}, complete_{false};
  mutable std::mutex mutex_;
  std::exception_ptr error_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace bora::data
