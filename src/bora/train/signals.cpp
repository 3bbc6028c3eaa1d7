// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace bora::train {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
struct sigaction before_int, before_term;

void on_signal(int) {
  if (stop_requested != 0) ::_exit(130);
  stop_requested = 1;
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
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &before_int, nullptr);
  ::sigaction(SIGTERM, &before_term, nullptr);
}

bool StopSignals::requested() { return stop_requested != 0; }

}  // namespace bora::train
