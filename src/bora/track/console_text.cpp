// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/console_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "bora/base/secrets.h"
#include "bora/base/text.h"

namespace bora::track {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;  ///< bytes
  bool valid = false;
};

CodePoint decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (length > text.size() || invalid_utf8(text.substr(0, length))) return {};
  static constexpr std::array<unsigned char, 5> kLeadBits{0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t value = lead & kLeadBits[length];
  for (std::size_t i = 1; i < length; ++i) value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return {value, length, true};
}

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return r.first <= c && c <= r.last; });
}

int columns(char32_t c) {
  // Blocks, not single characters: enough to keep lines within the terminal.
  static constexpr std::array<Range, 7> kNone{{{0x300, 0x36F},
                                               {0x483, 0x489},
                                               {0x591, 0x5BD},
                                               {0x200B, 0x200F},
                                               {0x20D0, 0x20FF},
                                               {0xFE00, 0xFE0F},
                                               {0xFE20, 0xFE2F}}};
  static constexpr std::array<Range, 8> kWide{{{0x1100, 0x115F},
                                               {0x2E80, 0x303E},
                                               {0x3041, 0xA4CF},
                                               {0xAC00, 0xD7A3},
                                               {0xF900, 0xFAFF},
                                               {0xFE30, 0xFE6F},
                                               {0xFF00, 0xFF60},
                                               {0x1F300, 0x1FAFF}}};
  if (in(kNone, c)) return 0;
  return in(kWide, c) || (0x20000 <= c && c <= 0x3FFFD) ? 2 : 1;
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode(text.substr(at));
    width += c.valid ? columns(c.value) : 1;
    at += c.length;
  }
  return width;
}

std::string printable(std::string_view given) {
  const std::string text = redact(given);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode(std::string_view(text).substr(at));
    const bool control = c.value < 0x20 || (0x7F <= c.value && c.value < 0xA0);
    if (!c.valid)
      out += "\xEF\xBF\xBD";
    else if (c.value == '\n')
      out += "⏎";
    else if (control)
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c.value));
    else
      out.append(text, at, c.length);
    at += c.length;
  }
  return out;
}

std::string fit(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 0) return {};
  int used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto c = decode(text.substr(at));
    const int more = c.valid ? columns(c.value) : 1;
    if (used + more > width - 1) break;
    used += more;
    at += c.length;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + std::string(std::max(0, width - display_width(text)), ' ');
}

std::string pad_left(std::string_view text, int width) {
  return std::string(std::max(0, width - display_width(text)), ' ') + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  for (const auto& word : split(text, ' ')) {
    auto& line = lines.back();
    if (line.empty())
      line = word;
    else if (display_width(line) + 1 + display_width(word) <= width)
      line += ' ' + word;
    else
      lines.push_back(word);
  }
  return lines;
}

std::string compact_count(double n) {
  static constexpr std::array<std::string_view, 5> kUnits{"", "k", "M", "B", "T"};
  std::size_t unit = 0;
  // 999.5 would be printed as 1000
  while (std::abs(n) >= 999.5 && unit + 1 < kUnits.size()) {
    n /= 1000;
    ++unit;
  }
  const double size = std::abs(n);
  const int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", n, decimals, kUnits[unit]);
}

std::string compact_scientific(double x) {
  if (x == 0 || !std::isfinite(x)) return fmt::format("{}", x);
  const auto text = fmt::format("{:.1e}", x);
  const auto e = text.find('e');
  return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

std::string painted(std::string_view text, Paint paint, bool color) {
  if (!color || text.empty()) return std::string(text);
  const int code = paint == Paint::Bold ? 1 : paint == Paint::Dim ? 2 : 36;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string bar(double fraction, int width, bool color) {
  fraction = std::isnan(fraction) ? 0 : std::clamp(fraction, 0.0, 1.0);
  const int full = static_cast<int>(fraction * width);
  if (full >= width) return painted(repeat("━", width), Paint::Cyan, color);
  return painted(repeat("━", full) + "╸", Paint::Cyan, color) +
         painted(repeat("━", width - full - 1), Paint::Dim, color);
}

}  // namespace bora::track
