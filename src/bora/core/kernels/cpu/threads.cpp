// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The threads of numerical work. A step is made of some hundred short parallel loops; a team that must be
// complete at the end of each (OpenMP's) waits, on a machine with other work, for a thread that the system
// has put aside, in every loop. Here the caller takes all the chunks that nobody else takes, and waits for
// those alone that another thread is at work on.
#include "bora/core/kernels/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bora::kernels {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

// About 0.1 ms: loops follow one another faster than that within a step.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

thread_local bool inside = false;  // of a loop's body
thread_local BetweenChunks* newest = nullptr;

/// One loop at a time; `next` hands out its chunks.
class Pool {
 public:
  void resize(int n) {
    const std::lock_guard lock(mutex_);
    limit_ = std::max(1, n);
    while (static_cast<int>(workers_.size()) + 1 < limit_) {
      try {
        workers_.emplace_back([this, index = static_cast<int>(workers_.size()) + 1] { serve(index); });
      } catch (const std::system_error&) {
        return;  // no more threads to be had: the ones there are do the work
      }
    }
  }
  int size() const { return limit_.load(std::memory_order_relaxed); }

  void run(std::int64_t n, std::int64_t chunk, const Body& body) {
    const std::lock_guard lock(mutex_);
    n_ = n;
    chunk_ = chunk;
    body_ = &body;
    error_ = nullptr;
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    round_.fetch_add(1);
    if (sleeping_.load() > 0) round_.notify_all();
    take_chunks();
    open_.store(false);
    for (int i = 0; joined_.load() > 0; ++i) i < kSpins ? pause() : std::this_thread::yield();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void serve(int index) {
    for (std::uint32_t seen = 0;;) {
      seen = wait_for_round(seen);
      if (index >= size()) continue;
      joined_.fetch_add(1);
      if (open_.load()) take_chunks();
      joined_.fetch_sub(1);
    }
  }

  std::uint32_t wait_for_round(std::uint32_t seen) {
    for (int i = 0; i < kSpins; ++i, pause()) {
      if (const std::uint32_t now = round_.load(); now != seen) return now;
    }
    sleeping_.fetch_add(1);
    round_.wait(seen);
    sleeping_.fetch_sub(1);
    return round_.load();
  }

  void take_chunks() {
    inside = true;
    const std::int64_t chunks = (n_ + chunk_ - 1) / chunk_;
    for (std::int64_t c; (c = next_.fetch_add(1)) < chunks;) {
      try {
        (*body_)(c* chunk_, std::min((c + 1) * chunk_, n_));
        look_between_chunks();
      } catch (...) {
        report(c, std::current_exception());
      }
    }
    inside = false;
  }

  // The lowest failing chunk is reported, whoever ran it.
  void report(std::int64_t chunk, std::exception_ptr error) {
    const std::lock_guard lock(error_mutex_);
    if (error_ && error_chunk_ < chunk) return;
    error_ = std::move(error);
    error_chunk_ = chunk;
  }

  std::mutex mutex_;  // of the caller: loops of two threads run one after the other
  std::vector<std::thread> workers_;
  std::atomic<int> limit_{1};

  std::int64_t n_ = 0, chunk_ = 1;
  const Body* body_ = nullptr;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::int64_t error_chunk_ = 0;

  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
  std::atomic<int> sleeping_{0};
  alignas(64) std::atomic<bool> open_{false};  // the loop's fields may be read
  alignas(64) std::atomic<int> joined_{0};     // workers that may be reading them
};

// Never destroyed: its threads end with the process.
Pool& pool() {
  static auto* the = new Pool;
  return *the;
}

}  // namespace

BetweenChunks::BetweenChunks(std::function<void()> look) : look_(std::move(look)), before_(newest) {
  newest = this;
}

BetweenChunks::~BetweenChunks() {
  BetweenChunks** at = &newest;
  while (*at != nullptr && *at != this) at = &(*at)->before_;
  if (*at == this) *at = before_;
}

void look_between_chunks() {
  for (const BetweenChunks* one = newest; one != nullptr; one = one->before_) one->look_();
}

void set_threads(int n) { pool().resize(n); }

int threads() { return pool().size(); }

void for_chunks(std::int64_t n, std::int64_t chunk, const Body& body) {
  if (n <= chunk || inside || threads() == 1) {
    for (std::int64_t begin = 0; begin < n; begin += chunk) {
      body(begin, std::min(begin + chunk, n));
      look_between_chunks();
    }
    return;
  }
  pool().run(n, chunk, body);
}

}  // namespace bora::kernels
