// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace bora::mesh {

/// Around a call of a library that waits for other workers and cannot be told to stop: if it is not over
/// after `seconds`, the process says what it was at and ends with exit code 75, as after any lost worker.
///
///     const Watchdog watchdog("worker 1 (host b): the start of MPI", 120);
///     MPI_Init(...);
class Watchdog {
 public:
  Watchdog(std::string what, double seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(double seconds);

  std::string message_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace bora::mesh
