// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/signals.h"

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace bora::train {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
timespec first_request;
struct sigaction before_int, before_term, before_user, before_hangup;

// A batch system that tells both the launcher and its workers makes one request arrive twice.
bool is_echo() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto milliseconds = [](const timespec& t) { return t.tv_sec * 1000 + t.tv_nsec / 1000000; };
  return milliseconds(now) - milliseconds(first_request) < 500;
}

// What it interrupts may be about to look at errno.
struct KeptErrno {
  KeptErrno() = default;
  ~KeptErrno() { errno = value; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  int value = errno;
};

void on_signal(int signal) {
  const KeptErrno kept;
  if (stop_requested != 0) {
    if (is_echo()) return;
    ::_exit(130);
  }
  ::clock_gettime(CLOCK_MONOTONIC, &first_request);
  stop_requested = 1;
  if (signal == SIGUSR1) return;  // from a launcher, which has said so
  constexpr std::string_view kText = "\nbora: stopping after this step (press again to stop at once) ...\n";
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

}  // namespace

StopSignals::StopSignals() {
  stop_requested = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, &before_int);
  ::sigaction(SIGTERM, &action, &before_term);
  ::sigaction(SIGUSR1, &action, &before_user);
  ::sigaction(SIGHUP, nullptr, &before_hangup);
  if (before_hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &before_int, nullptr);
  ::sigaction(SIGTERM, &before_term, nullptr);
  ::sigaction(SIGUSR1, &before_user, nullptr);
  ::sigaction(SIGHUP, &before_hangup, nullptr);
}

bool StopSignals::requested() { return stop_requested != 0; }

}  // namespace bora::train
