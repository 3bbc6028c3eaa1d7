// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/prefetcher.h"

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"

namespace bora::data {

Prefetcher::Prefetcher(Loader loader, std::int64_t first_step, PrefetchOptions options)
    : loader_(std::move(loader)), options_(std::move(options)) {
  if (options_.depth < 1) {
    fail(ErrorKind::InvalidArgument, "prefetcher: a depth of {}; it should be at least 1", options_.depth);
  }
  start(first_step);
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::seek(std::int64_t step) {
  stop();
  start(step);
}

std::optional<Batch> Prefetcher::next() {
  std::unique_lock lock(mutex_);
  if (ready_.empty()) {
    const double before = monotonic_seconds();
    changed_.wait(lock, [this] { return !ready_.empty(); });
    waited_ += monotonic_seconds() - before;
  }
  const Item& front = ready_.front();
  // The end and an error stay in the queue: nothing follows them, and a second call must not wait for ever.
  if (front.error) std::rethrow_exception(front.error);
  if (!front.batch) return {};
  std::optional<Batch> batch = std::move(ready_.front().batch);
  ready_.pop_front();
  lock.unlock();
  changed_.notify_one();
  return batch;
}

bool Prefetcher::ready() {
  const std::lock_guard lock(mutex_);
  return !ready_.empty();
}

void Prefetcher::start(std::int64_t step) {
  stopping_ = false;
  ready_.clear();
  thread_ = std::thread([this, step] { read_ahead(step); });
}

void Prefetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Prefetcher::read_ahead(std::int64_t step) {
  trace::name_thread("data");
  try {
    for (const std::int64_t end = loader_.num_steps(); step < end; ++step) {
      trace::Span span("batch", "step", step);
      auto batch = loader_.batch(step, options_.wanted);
      span.end();
      if (!push(std::move(batch), nullptr)) return;
    }
    push({}, nullptr);
  } catch (...) {
    push({}, std::current_exception());
  }
}

bool Prefetcher::push(std::optional<Batch> batch, std::exception_ptr error) {
  std::unique_lock lock(mutex_);
  const auto depth = static_cast<std::size_t>(options_.depth);
  changed_.wait(lock, [&] { return stopping_ || ready_.size() < depth; });
  if (stopping_) return false;
  ready_.push_back({std::move(batch), std::move(error)});
  lock.unlock();
  changed_.notify_one();
  return true;
}

}  // namespace bora::data
