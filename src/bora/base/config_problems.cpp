// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/config.h"
#include "bora/base/secrets.h"

namespace bora {
namespace {

// Columns on a terminal, near enough: code points.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t to) {
  return text + std::string(to - std::min(to, width(text)), ' ');
}

// Beyond this a long key pushes its own message only, not everybody's.
constexpr std::size_t kWidestKey = 60;

// "--trainer.lanes" of "trainer.lanes = 3": the flag is the key.
bool is_its_flag(const ConfigProblem& problem) {
  return problem.where.starts_with("--") && problem.key.starts_with(problem.where.substr(2)) &&
         (problem.key.size() == problem.where.size() - 2 || problem.key[problem.where.size() - 2] == ' ');
}

}  // namespace

std::string format_problems(const std::string& file, const std::vector<ConfigProblem>& problems) {
  std::size_t where = 0, widest = 0;
  for (const auto& problem : problems)
    if (!is_its_flag(problem)) where = std::max(where, width(problem.where));
  const auto left = [&](const ConfigProblem& problem) {
    return is_its_flag(problem) ? "--" + problem.key
                                : fmt::format("{}   {}", padded(problem.where, where), problem.key);
  };
  for (const auto& problem : problems) {
    const auto columns = width(left(problem));
    if (columns <= where + 3 + kWidestKey) widest = std::max(widest, columns);
  }
  std::string out = fmt::format("{} has {} problem{}; nothing was started.", file, problems.size(),
                                problems.size() == 1 ? "" : "s");
  for (const auto& problem : problems)
    out += fmt::format("\n  {}  {}", padded(left(problem), widest), problem.message);
  return redact(out);
}

}  // namespace bora
