// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/background_build.h"

#include <sys/resource.h>

#include <algorithm>

#include "bora/base/error.h"

namespace bora::data {
namespace {

/// Threads that this one starts have it too.
void step_back() {
  constexpr int kNicer = 10, kNicest = 19;
  const int now = ::getpriority(PRIO_PROCESS, 0);
  ::setpriority(PRIO_PROCESS, 0, std::min(now + kNicer, kNicest));  // on Linux of this thread alone
}

}  // namespace

BackgroundBuild::~BackgroundBuild() { stop(); }

std::function<void(const store::CacheProgress&)> BackgroundBuild::pulse() {
  return [this](const store::CacheProgress&) { refuse_to_go_on(); };
}

std::shared_ptr<const store::GrowingCache> BackgroundBuild::add(
    std::shared_ptr<const store::Processor> processor, std::unique_ptr<store::CacheBuild> build,
    bool urgent) {
  std::string directory = build->directory();
  tasks_.push_back({std::move(processor), std::move(build), urgent});
  return std::make_shared<store::GrowingCache>(std::move(directory),
                                               [self = shared_from_this()] { self->check(); });
}

void BackgroundBuild::run(int threads) {
  thread_ = std::thread([this, threads] { work(threads); });
}

void BackgroundBuild::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void BackgroundBuild::work(int threads) {
  step_back();
  try {
    for (const bool urgent : {true, false}) build(urgent, threads);
    complete_ = true;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
}

void BackgroundBuild::build(bool urgent, int threads) {
  std::vector<store::CacheShare*> shares;
  for (auto& task : tasks_) {
    if (task.urgent == urgent) shares.push_back(&task.build->share());
  }
  store::make_shares(shares, threads);
  for (auto& task : tasks_) {
    if (task.urgent == urgent) task.build->finish_apart([this] { refuse_to_go_on(); });
  }
}

void BackgroundBuild::refuse_to_go_on() const {
  if (stopping_) fail(ErrorKind::Stopped, "the build of the token caches was stopped");
}

void BackgroundBuild::check() const {
  {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }
  refuse_to_go_on();
}

store::CacheProgress BackgroundBuild::progress() const {
  store::CacheProgress sum;
  for (const auto& task : tasks_) {
    const auto one = task.build->share().progress();
    sum.bytes_done += one.bytes_done;
    sum.bytes_total += one.bytes_total;
    sum.counts += one.counts;
  }
  return sum;
}

}  // namespace bora::data
