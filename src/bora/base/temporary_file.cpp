// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/temporary_file.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <limits>

#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora {

namespace {

bool is_all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// ".a.txt.4711.0.tmp" and ".step-9.tmp-4711-0" become "a.txt" and "step-9"; all else stays.
std::string name_of_part(const std::string& part) {
  constexpr std::string_view kFile = ".tmp", kDirectory = ".tmp-";
  if (!part.starts_with('.')) return part;
  if (part.ends_with(kFile)) {
    auto name = std::string_view(part).substr(1, part.size() - 1 - kFile.size());
    for (int numbers = 2; numbers > 0; --numbers) {
      const auto dot = name.rfind('.');
      if (dot == name.npos || dot == 0 || !is_all_digits(name.substr(dot + 1))) return part;
      name = name.substr(0, dot);
    }
    return std::string(name);
  }
  const auto at = part.rfind(kDirectory);
  if (at == part.npos || at < 2) return part;
  const auto numbers = split(std::string_view(part).substr(at + kDirectory.size()), '-');
  return numbers.size() == 2 && is_all_digits(numbers[0]) && is_all_digits(numbers[1])
             ? part.substr(1, at - 1)
             : part;
}

}  // namespace

std::string temporary_beside(const std::string& path) {
  static std::atomic<std::uint64_t> counter{0};
  return path_join(parent_path(path), fmt::format(".{}.{}.{}.tmp", base_name(path), ::getpid(), counter++));
}

bool is_left_behind(std::string_view file, std::string_view name) {
  const std::string begin = fmt::format(".{}.", name);
  if (!file.starts_with(begin) || name_of_part(std::string(file)) != name) return false;
  const auto process = parse_int(file.substr(begin.size(), file.find('.', begin.size()) - begin.size()));
  if (!process || *process <= 0 || *process > std::numeric_limits<pid_t>::max()) return false;
  return ::kill(static_cast<pid_t>(*process), 0) != 0 && errno == ESRCH;
}

std::string without_temporary_names(std::string_view path) {
  auto parts = split(path, '/');
  for (auto& part : parts) part = name_of_part(part);
  return join(parts, "/");
}

void remove_unfinished(const std::string& path) noexcept {
  try {
    files().remove(path);
  } catch (const std::exception&) {  // as the header says
  }
}

}  // namespace bora
