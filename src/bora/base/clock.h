// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

double monotonic_seconds();    ///< for measuring; starts anywhere
double wall_seconds();         ///< since the epoch
double seconds_since_start();  ///< since the kernel started this process (so that loading libraries counts)
std::string iso_time(double wall);  ///< 2026-03-01T12:30:05Z

}  // namespace bora
