// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/path_pattern.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/text.h"

namespace bora {
namespace {

// Goes back to the last * only: linear in practice, and no more than pattern times path.
bool matches_all(std::string_view pattern, std::string_view path) {
  std::size_t p = 0, s = 0, star = std::string_view::npos, resume = 0;
  while (s < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = s;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[s])) {
      ++p;
      ++s;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      s = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What somebody may have meant: a path, or a module around it, with * for its numbers where the pattern has
// *.
std::vector<std::string> candidates(std::string_view pattern, std::span<const std::string> paths) {
  const bool stars = pattern.find('*') != std::string_view::npos;
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::string so_far;
    for (const auto& part : split(path, '.')) {
      so_far += (so_far.empty() ? "" : ".") + (stars && is_number(part) ? "*" : part);
      if (std::find(out.begin(), out.end(), so_far) == out.end()) out.push_back(so_far);
      if (stars && std::find(out.begin(), out.end(), "*." + part) == out.end()) out.push_back("*." + part);
    }
  }
  return out;
}

std::string problem(std::string_view pattern, std::span<const std::string> paths, std::string_view what) {
  auto out = fmt::format("{} selects no {}", pattern, what);
  if (const auto near = did_you_mean(pattern, candidates(pattern, paths)); !near.empty()) return out + near;
  return paths.empty() ? out : fmt::format("{}; the first one is {}", out, paths.front());
}

}  // namespace

bool path_matches(std::string_view pattern, std::string_view path) {
  for (auto end = path.size();; end = path.rfind('.', end - 1)) {
    if (end == std::string_view::npos) return false;
    if (matches_all(pattern, path.substr(0, end))) return true;
    if (end == 0) return false;
  }
}

SelectedPaths select_paths(std::span<const std::string> patterns, std::span<const std::string> paths,
                           std::string_view what) {
  SelectedPaths out{std::vector<bool>(paths.size()), {}};
  for (const auto& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!path_matches(pattern, paths[i])) continue;
      any = out.selected[i] = true;
    }
    if (!any) out.problems.push_back(problem(pattern, paths, what));
  }
  return out;
}

}  // namespace bora
