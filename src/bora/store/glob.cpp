// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The two pattern languages of urls.h that need no file system: braces and globs of one path component.
#include <algorithm>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

constexpr std::size_t kMaxExpansions = 1'000'000;

/// The matching `}` of the `{` at `open`, and the commas directly inside; npos if there is none.
std::size_t closing_brace(std::string_view text, std::size_t open, std::vector<std::size_t>& commas) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == ',' && depth == 1) commas.push_back(i);
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::size_t padded_width(std::string_view a, std::string_view b) {
  const auto padded = [](std::string_view s) {
    if (s.starts_with('-')) s.remove_prefix(1);
    return s.size() > 1 && s.front() == '0';
  };
  return padded(a) || padded(b) ? std::max(a.size(), b.size()) : 0;
}

/// `1..3`, `03..10`, `a..e`; empty if the text is no range.
std::vector<std::string> brace_range(std::string_view body) {
  const auto dots = body.find("..");
  if (dots == std::string_view::npos) return {};
  const auto a = body.substr(0, dots), b = body.substr(dots + 2);
  std::vector<std::string> out;
  const auto letter = [](std::string_view s) {
    return s.size() == 1 && std::isalpha(static_cast<unsigned char>(s[0]));
  };
  if (letter(a) && letter(b)) {
    const int first = static_cast<unsigned char>(a[0]), last = static_cast<unsigned char>(b[0]);
    const int step = first <= last ? 1 : -1;
    for (int c = first; c != last + step; c += step) out.emplace_back(1, static_cast<char>(c));
    return out;
  }
  const auto first = parse_int(a), last = parse_int(b);
  if (!first || !last) return {};
  const bool up = *first <= *last;
  // Unsigned, so that the ends of the 64-bit range cannot overflow.
  const auto distance = up ? static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first)
                           : static_cast<std::uint64_t>(*first) - static_cast<std::uint64_t>(*last);
  if (distance >= kMaxExpansions) {
    fail(ErrorKind::Unsupported, "data files: {{{}}} stands for more than {} names", body, kMaxExpansions);
  }
  const std::size_t width = padded_width(a, b);
  for (std::uint64_t i = 0; i <= distance; ++i) {
    const auto n = *first + (up ? 1 : -1) * static_cast<std::int64_t>(i);
    out.push_back(width ? fmt::format("{:0{}}", n, width) : fmt::format("{}", n));
  }
  return out;
}

/// One element of a bracket expression at pattern[i]; advances i past it.
bool bracket_item(std::string_view pattern, std::size_t& i, char c) {
  const auto low = static_cast<unsigned char>(pattern[i]);
  auto high = low;
  if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
    high = static_cast<unsigned char>(pattern[i + 2]);
    i += 2;
  }
  ++i;
  const auto u = static_cast<unsigned char>(c);
  return low <= u && u <= high;
}

/// Matches `[...]` at pattern[i] against c; advances i past `]`. An unclosed `[` stands for itself.
bool match_bracket(std::string_view pattern, std::size_t& i, char c) {
  std::size_t j = i + 1;
  const bool negated = j < pattern.size() && (pattern[j] == '!' || pattern[j] == '^');
  if (negated) ++j;
  if (pattern.find(']', j + 1) == std::string_view::npos) {
    ++i;
    return c == '[';
  }
  bool hit = false;
  do hit |= bracket_item(pattern, j, c);
  while (j < pattern.size() && pattern[j] != ']');
  i = j + 1;
  return hit != negated;
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
  for (auto open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{', open + 1)) {
    std::vector<std::size_t> commas;
    const auto close = closing_brace(pattern, open, commas);
    if (close == std::string_view::npos) continue;
    std::vector<std::string> choices;
    if (commas.empty()) {
      choices = brace_range(pattern.substr(open + 1, close - open - 1));
      if (choices.empty()) continue;
    } else {
      commas.push_back(close);
      std::size_t from = open + 1;
      for (auto comma : commas) {
        for (auto& inner : expand_braces(pattern.substr(from, comma - from)))
          choices.push_back(std::move(inner));
        from = comma + 1;
      }
    }
    const auto tails = expand_braces(pattern.substr(close + 1));
    if (choices.size() * tails.size() > kMaxExpansions) {
      fail(ErrorKind::Unsupported, "data files: \"{}\" stands for more than {} names", pattern,
           kMaxExpansions);
    }
    std::vector<std::string> out;
    for (const auto& choice : choices) {
      for (const auto& tail : tails)
        out.push_back(fmt::format("{}{}{}", pattern.substr(0, open), choice, tail));
    }
    return out;
  }
  return {std::string(pattern)};
}

bool glob_match(std::string_view pattern, std::string_view name) {
  // Iterative with one point to fall back to, so that "*a*a*a*b" is not exponential.
  std::size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    std::size_t after = p;
    bool ok = false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    if (p < pattern.size()) {
      if (pattern[p] == '[') {
        ok = match_bracket(pattern, after, name[n]);
      } else {
        ok = pattern[p] == '?' || pattern[p] == name[n];
        ++after;
      }
    }
    if (ok) {
      p = after;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool glob_match_path(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (path.empty()) return false;
  const bool hidden = path.front().front() == '.';
  if (pattern.front() == "**") {
    if (hidden) return false;
    if (pattern.size() == 1) return path.size() == 1 || glob_match_path(pattern, path.subspan(1));
    return glob_match_path(pattern.subspan(1), path) || glob_match_path(pattern, path.subspan(1));
  }
  if (hidden && pattern.front().front() != '.') return false;
  return glob_match(pattern.front(), path.front()) && glob_match_path(pattern.subspan(1), path.subspan(1));
}

}  // namespace bora::store
