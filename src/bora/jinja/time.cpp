// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <array>
#include <chrono>
#include <string>

#include "bora/jinja/machine.h"

namespace bora::jinja {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

struct Clock {
  std::int64_t year = 0;
  unsigned month = 0, day = 0, weekday = 0;  // weekday: 0 is Sunday
  unsigned day_of_year = 0;                  // from 0
  unsigned hour = 0, minute = 0, second = 0;
};

Clock read_clock(std::int64_t seconds) {
  using std::chrono::days;
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t day = seconds / kDay - (seconds % kDay < 0 ? 1 : 0);
  const auto rest = static_cast<unsigned>(seconds - day * kDay);
  const std::chrono::sys_days date{days(static_cast<int>(day))};
  const std::chrono::year_month_day ymd(date);
  Clock clock;
  clock.year = static_cast<int>(ymd.year());
  clock.month = static_cast<unsigned>(ymd.month());
  clock.day = static_cast<unsigned>(ymd.day());
  clock.weekday = std::chrono::weekday(date).c_encoding();
  const std::chrono::sys_days new_year(ymd.year() / std::chrono::January / 1);
  clock.day_of_year = static_cast<unsigned>((date - new_year).count());
  clock.hour = rest / 3600;
  clock.minute = rest / 60 % 60;
  clock.second = rest % 60;
  return clock;
}

class TimeFormat {
 public:
  TimeFormat(const Guard& guard, const Clock& clock) : guard_(guard), clock_(clock) {}

  std::string run(std::string_view format) {
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%' || i + 1 == format.size()) {
        out += format[i];
        continue;
      }
      flag_ = '\0';
      if (format[i + 1] == '-' || format[i + 1] == '_' || format[i + 1] == '0') flag_ = format[++i];
      if (++i == format.size()) guard_.fail("strftime_now: the format ends after %");
      out += field(format[i]);
    }
    return out;
  }

 private:
  std::string field(char c);
  std::string text_field(char c);
  std::string number(std::int64_t value, int width, char pad = '0') const {
    if (flag_ == '-') return std::to_string(value);
    if (flag_ != '\0') pad = flag_ == '_' ? ' ' : '0';
    return pad == '0' ? fmt::format("{:0{}}", value, width) : fmt::format("{:{}}", value, width);
  }
  unsigned hour12() const { return clock_.hour % 12 == 0 ? 12 : clock_.hour % 12; }
  unsigned week(unsigned first_day) const {
    return (clock_.day_of_year + 7 - (clock_.weekday + 7 - first_day) % 7) / 7;
  }

  const Guard& guard_;
  const Clock& clock_;
  char flag_ = '\0';
};

std::string TimeFormat::field(char c) {
  switch (c) {
    case 'Y':
      return std::to_string(clock_.year);
    case 'C':
      return number(clock_.year / 100, 2);
    case 'y':
      return number(clock_.year % 100, 2);
    case 'm':
      return number(clock_.month, 2);
    case 'd':
      return number(clock_.day, 2);
    case 'e':
      return number(clock_.day, 2, ' ');
    case 'H':
      return number(clock_.hour, 2);
    case 'k':
      return number(clock_.hour, 2, ' ');
    case 'I':
      return number(hour12(), 2);
    case 'l':
      return number(hour12(), 2, ' ');
    case 'M':
      return number(clock_.minute, 2);
    case 'S':
      return number(clock_.second, 2);
    case 'f':
      return "000000";
    case 'j':
      return number(clock_.day_of_year + 1, 3);
    case 'u':
      return number(clock_.weekday == 0 ? 7 : clock_.weekday, 1);
    case 'w':
      return number(clock_.weekday, 1);
    case 'U':
      return number(week(0), 2);
    case 'W':
      return number(week(1), 2);
    default:
      return text_field(c);
  }
}

std::string TimeFormat::text_field(char c) {
  const std::string_view month = kMonths[clock_.month - 1], day = kDays[clock_.weekday];
  switch (c) {
    case 'B':
      return std::string(month);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'a':
      return std::string(day.substr(0, 3));
    case 'p':
      return clock_.hour < 12 ? "AM" : "PM";
    case 'P':
      return clock_.hour < 12 ? "am" : "pm";
    case 'D':
    case 'x':
      return run("%m/%d/%y");
    case 'F':
      return run("%Y-%m-%d");
    case 'R':
      return run("%H:%M");
    case 'T':
    case 'X':
      return run("%H:%M:%S");
    case 'r':
      return run("%I:%M:%S %p");
    case 'c':
      return run("%a %b %e %H:%M:%S %Y");
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'z':
    case 'Z':
      return "";
    case '%':
      return "%";
    default:
      guard_.stop(ErrorKind::Unsupported, fmt::format("strftime_now has no %{}", c));
  }
}

}  // namespace

std::string format_time(const Guard& guard, std::string_view format, std::int64_t seconds) {
  // Years 0 to 9999.
  if (seconds < -62'167'219'200 || seconds >= 253'402'300'800) {
    guard.fail("strftime_now: {} seconds since 1970 lie beyond the calendar", seconds);
  }
  const Clock clock = read_clock(seconds);
  return TimeFormat(guard, clock).run(format);
}

}  // namespace bora::jinja
