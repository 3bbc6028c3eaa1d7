// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Loaded before a program's own libraries (LD_PRELOAD), so that every look at the clock on the wall finds another time:
// hours and years ahead of what the one before found, or behind it. The clocks that only go forwards are left alone.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr time_t kHour = 3600, kYear = 365 * 24 * kHour;

time_t jump() {
  static constexpr time_t kAhead[] = {0,      -3 * kHour, 5 * kHour,      -26 * kHour, kYear,     kHour,
                                      -kYear, 2 * kHour,  9 * 24 * kHour, -20 * kYear, 30 * kYear};
  static std::atomic<unsigned> looks{0};
  return kAhead[looks++ % (sizeof(kAhead) / sizeof(*kAhead))];
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = ::syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
  return static_cast<int>(result);
}

[[gnu::visibility("default")]] int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return result;
}

[[gnu::visibility("default")]] time_t time(time_t* out) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (out != nullptr) *out = precise.tv_sec;
  return precise.tv_sec;
}
}
