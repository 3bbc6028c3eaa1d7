// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "bora/base/error.h"

namespace bora::mesh {

Watchdog::Watchdog(std::string what, double seconds)
    : message_(fmt::format("bora: {}: not over after {:g} s: a worker is missing\n"
                           "hint: look at the other workers' logs and machines; started again, the run goes "
                           "on from its newest checkpoint\n",
                           what, seconds)),
      thread_([this, seconds] { watch(seconds); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::watch(double seconds) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> time(seconds);
  if (changed_.wait_for(lock, time, [this] { return over_; })) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message_.data(), message_.size());
  ::_exit(exit_code(ErrorKind::Stopped));
}

}  // namespace bora::mesh
