// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/log.h"

namespace bora {
namespace {

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

// Indices are handed out in order, so when i fails every lower index has been started and will report: the
// lowest failure is the same for any number of threads.
class Tasks {
 public:
  Tasks(std::int64_t n, const std::function<void(std::int64_t)>& body) : n_(n), body_(body) {}

  void work() {
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= n_) return;
      try {
        body_(i);
      } catch (...) {
        report(i, std::current_exception());
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void report(std::int64_t i, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || i < error_index_) {
      error_ = std::move(error);
      error_index_ = i;
    }
    failed_ = true;
  }

  const std::int64_t n_;
  const std::function<void(std::int64_t)>& body_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::int64_t error_index_ = 0;
};

}  // namespace

int hardware_threads() {
  static const int number = bounded_threads(env::threads().value_or(allowed_cores()));
  return number;
}

int bounded_threads(std::int64_t wanted) {
  constexpr std::int64_t kOfACore = 4;
  const std::int64_t cores = allowed_cores(), most = kOfACore * cores;
  if (wanted > most) {
    log_warning("{} threads are more than {} for each of the {} core{} here; {} are used", wanted, kOfACore,
                cores, cores == 1 ? "" : "s", most);
  }
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

void parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body, int threads) {
  const std::int64_t wanted = std::min<std::int64_t>(n, threads > 0 ? threads : hardware_threads());
  Tasks tasks(n, body);
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t i = 1; i < wanted; ++i) {
      try {
        helpers.emplace_back([&tasks] { tasks.work(); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: the ones there are do the work
      }
    }
    tasks.work();
  }
  tasks.rethrow();
}

}  // namespace bora
