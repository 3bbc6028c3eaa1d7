// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace bora {
namespace {

template <class Item>
std::string join_items(std::span<const Item> items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items.begin(), items.end(), separator));
}

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Three significant digits with the smallest unit that keeps the number below 1000.
std::string with_unit(double value, std::span<const std::string_view> units) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  double size = std::fabs(value);
  std::size_t unit = 0;
  // 999.5 would print as 1000
  while (size >= 999.5 && unit + 1 < units.size()) {
    size /= 1000;
    ++unit;
  }
  const bool whole = unit == 0 && size == std::floor(size);
  const int decimals = whole || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{}{:.{}f}{}{}", value < 0 ? "-" : "", size, decimals, units[unit].empty() ? "" : " ",
                     units[unit]);
}

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Length of the valid sequence at the front of `text`, or 0 (Unicode 15, table 3-7).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(byte(i))) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string join(std::span<const std::string> items, std::string_view separator) {
  return join_items(items, separator);
}
std::string join(std::span<const std::string_view> items, std::string_view separator) {
  return join_items(items, separator);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    parts.emplace_back(text.substr(begin, end - begin));
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto lower = ascii_lower(word);  // GPT2 means gpt2
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t difference = longer - std::min(word.size(), candidate.size());
    const std::size_t limit = best ? best_distance - 1 : longer / 3;
    if ((best && best_distance == 0) || difference > limit) continue;
    const std::size_t distance = edit_distance(lower, ascii_lower(candidate));
    if (distance > longer / 3 || distance > limit) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto near = nearest(word, candidates);
  return near ? fmt::format("; did you mean `{}`?", *near) : "";
}

std::string they_hold(std::span<const std::string> paths) {
  return paths.size() == 1 ? paths[0] + " holds"
                           : fmt::format("{} and {} more hold", paths[0], paths.size() - 1);
}

std::string with_commas(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string human_count(double n) {
  static constexpr std::string_view kUnits[] = {"", "k", "M", "B", "T"};
  return with_unit(n, kUnits);
}

std::string human_bytes(double bytes) {
  static constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  return with_unit(bytes, kUnits);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds)) return fmt::format("{}", seconds);
  if (seconds < 0) return fmt::format("-{}", human_duration(-seconds));
  if (seconds < 0.0995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::optional<std::size_t> invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_int(std::string_view text) { return parse_number<std::int64_t>(text); }

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_number<double>(text);
  // from_chars also reads "inf" and "nan", which are words here
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<double> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double unit = 1;
  switch (text.back()) {
    case 's':
      unit = 1;
      break;
    case 'm':
      unit = 60;
      break;
    case 'h':
      unit = 3600;
      break;
    case 'd':
      unit = 86400;
      break;
    default:
      unit = 0;
  }
  const auto number = parse_double(unit == 0 ? text : text.substr(0, text.size() - 1));
  if (!number || *number < 0) return std::nullopt;
  const double seconds = *number * (unit == 0 ? 1 : unit);
  return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}

namespace {

constexpr std::string_view kPowers = "kMGTP";

// What a unit stands for: "kB", "KB", "KiB", ..., "B" or none.
std::optional<double> size_of_unit(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const auto power = kPowers.find(unit[0] == 'K' ? 'k' : unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const auto exponent = static_cast<int>(power) + 1;
  if (unit.substr(1) == "B") return std::pow(1000.0, exponent);
  if (unit.substr(1) == "iB") return std::pow(1024.0, exponent);
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const auto unit = size_of_unit(trim(text.substr(end)));
  const auto digits = text.substr(0, end);
  if (!unit || digits.empty() || digits.starts_with('-')) return std::nullopt;
  if (*unit == 1) {
    if (const auto exact = parse_int(digits)) return exact;
    if (digits.find_first_of(".-") != digits.npos) return std::nullopt;  // parts of a byte
  }
  const auto number = parse_double(digits);
  if (!number) return std::nullopt;
  const double bytes = std::round(*number * *unit);
  constexpr double kTooMany = 9.2e18;
  return bytes < kTooMany ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

std::string exact_bytes(std::int64_t bytes) {
  std::int64_t count = bytes;
  std::size_t power = 0;
  while (count > 0 && count % 1000 == 0 && power < kPowers.size()) {
    count /= 1000;
    ++power;
  }
  return power == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}B", count, kPowers[power - 1]);
}

}  // namespace bora
