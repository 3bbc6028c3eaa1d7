// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::train {

/// While it lives, SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGUSR1 (what `bora launch` and batch
/// systems send) ask for a stop at the next step boundary; a second one, half a second later or more, ends
/// the process at once (exit code 130). SIGHUP stays ignored where it was (nohup).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool requested();
};

}  // namespace bora::train
