// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/meant_value.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <utility>

#include "bora/base/text.h"

namespace bora {
namespace {

// U+2010 to U+2015 and the minus of U+2212; U+2018 to U+201F are quotation marks.
std::string as_typed(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto three = text.substr(i, 3);
    const bool general = three.starts_with("\xE2\x80") && three.size() == 3;
    const auto last = general ? static_cast<unsigned char>(three[2]) : 0;
    if ((last >= 0x90 && last <= 0x95) || three == "\xE2\x88\x92")
      out += '-', i += 3;
    else if (last >= 0x98 && last <= 0x9F)
      i += 3;
    else
      out += text[i++];
  }
  return std::string(trim(out));
}

std::optional<std::string> meant_bool(const std::string& text) {
  const auto word = ascii_lower(text);
  for (const char* yes : {"yes", "y", "on", "1", "true"})
    if (word == yes) return "true";
  for (const char* no : {"no", "n", "off", "0", "false"})
    if (word == no) return "false";
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "1,000,000": a comma before each three digits.
std::string without_commas(const std::string& text) {
  const auto first = text.find(',');
  if (first == 0 || first == text.npos) return text;
  std::string out = text.substr(0, first);
  for (std::size_t at = first; at < text.size(); at += 4) {
    const auto part = text.substr(at, 4);
    if (part.size() < 4 || part[0] != ',' || !is_digit(part[1]) || !is_digit(part[2]) || !is_digit(part[3]))
      return text;
    out += part.substr(1);
  }
  return out;
}

std::optional<std::string> meant_number(std::string text, bool whole) {
  text = without_commas(text);
  double factor = 1;
  constexpr std::array<std::pair<char, double>, 8> kEnds = {
      {{'k', 1e3}, {'K', 1e3}, {'m', 1e6}, {'M', 1e6}, {'g', 1e9}, {'G', 1e9}, {'B', 1e9}, {'%', 0.01}}};
  for (const auto& [end, times] : kEnds) {
    if (!text.ends_with(end) || text.size() < 2) continue;
    factor = times;
    text = std::string(trim(std::string_view(text).substr(0, text.size() - 1)));
    break;
  }
  const auto number = parse_double(text);
  if (!number) return std::nullopt;
  if (factor == 1) return whole && std::floor(*number) != *number ? std::nullopt : std::optional(text);
  const double value = *number * factor;
  if (whole && (std::floor(value) != value || std::fabs(value) > 0x1p53)) return std::nullopt;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::optional<std::string> meant_duration(const std::string& text) {
  const auto end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == text.npos) return std::nullopt;
  const auto unit = ascii_lower(trim(std::string_view(text).substr(end)));
  constexpr std::array<std::pair<std::string_view, char>, 13> kUnits = {{{"sec", 's'},
                                                                         {"secs", 's'},
                                                                         {"second", 's'},
                                                                         {"seconds", 's'},
                                                                         {"min", 'm'},
                                                                         {"mins", 'm'},
                                                                         {"minute", 'm'},
                                                                         {"minutes", 'm'},
                                                                         {"hr", 'h'},
                                                                         {"hour", 'h'},
                                                                         {"hours", 'h'},
                                                                         {"day", 'd'},
                                                                         {"days", 'd'}}};
  for (const auto& [word, letter] : kUnits)
    if (unit == word) return text.substr(0, end) + letter;
  if (unit.size() == 1 && std::string_view("smhd").find(unit[0]) != std::string_view::npos)
    return text.substr(0, end) + unit;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> meant_value(std::string_view given, ValueKind kind) {
  const auto text = as_typed(given);
  auto out = kind == ValueKind::Bool       ? meant_bool(text)
             : kind == ValueKind::Duration ? meant_duration(text)
                                           : meant_number(text, kind == ValueKind::Integer);
  if (out && *out == given) out.reset();
  return out;
}

}  // namespace bora
