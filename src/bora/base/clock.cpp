// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/clock.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora {
namespace {

double read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Field 22 of /proc/self/stat: clock ticks between boot and the start of this process (man 5 proc). The
// command's name, field 2, may hold spaces and brackets, so fields are counted after its last ')'.
double start_after_boot() {
  const double otherwise = read_clock(CLOCK_BOOTTIME);
  std::string stat(4096, '\0');
  const auto file = files().open("/proc/self/stat");
  stat.resize(file->read_at(0, {reinterpret_cast<std::byte*>(stat.data()), stat.size()}));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > stat.size()) return otherwise;
  const auto fields = split(std::string_view(stat).substr(name_end + 2), ' ');  // from field 3 on
  constexpr std::size_t kStartTime = 22 - 3;
  const auto ticks = fields.size() > kStartTime ? parse_int(fields[kStartTime]) : std::nullopt;
  return ticks ? static_cast<double>(*ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)) : otherwise;
}

constexpr const char* kStarted = "BORA_STARTED";  // milliseconds after boot

std::optional<double> said_start() {
  const auto said = env::launcher(kStarted);
  const auto milliseconds = said ? parse_int(*said) : std::nullopt;
  if (!milliseconds) return std::nullopt;
  return static_cast<double>(*milliseconds) * 1e-3;
}

}  // namespace

double monotonic_seconds() { return read_clock(CLOCK_MONOTONIC); }
double wall_seconds() { return read_clock(CLOCK_REALTIME); }

double seconds_since_start() {
  static const double start = [] {
    const auto said = said_start();
    return said ? *said : start_after_boot();
  }();
  return std::fmax(0, read_clock(CLOCK_BOOTTIME) - start);
}

void begin_here() {
  ::setenv(kStarted, std::to_string(std::llround(read_clock(CLOCK_BOOTTIME) * 1e3)).c_str(), 1);
}

std::string iso_time(double wall) {
  const auto seconds = static_cast<time_t>(std::floor(wall));
  tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace bora
