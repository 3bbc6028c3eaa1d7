// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

double monotonic_seconds();         ///< for measuring; starts anywhere
double wall_seconds();              ///< since the epoch
std::string iso_time(double wall);  ///< 2026-03-01T12:30:05Z

/// Since the kernel started this process, so that loading libraries counts; or since begin_here().
double seconds_since_start();
/// From now on, also for the program that takes this one's place (exec): what ran in the process before, a
/// shell that set up and built, does not count. Before there are other threads.
void begin_here();

}  // namespace bora
