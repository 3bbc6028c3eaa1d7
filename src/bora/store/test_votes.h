// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <condition_variable>
#include <mutex>
#include <utility>

namespace bora::store {

/// Votes of threads that play the workers of a team.
class Votes {
 public:
  explicit Votes(int workers) : workers_(workers) {}
  bool any(bool mine) {
    std::unique_lock lock(mutex_);
    said_ = said_ || mine;
    const int round = round_;
    if (++voted_ == workers_) {
      result_ = std::exchange(said_, false);
      voted_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
    return result_;
  }

 private:
  const int workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int voted_ = 0, round_ = 0;
  bool said_ = false, result_ = false;
};

}  // namespace bora::store
