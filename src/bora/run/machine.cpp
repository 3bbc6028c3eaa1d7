// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::run {
namespace {

// Of version 2 and of version 1; "max", or a number beyond any memory, where there is none.
double limit_of_group() {
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    try {
      if (!exists(file)) continue;
      if (const auto bytes = parse_int(trim(read_text(file)))) return static_cast<double>(*bytes);
    } catch (const Error&) {
      continue;
    }
  }
  return 1e30;
}

bool is_there(const std::string& path) {
  try {
    return exists(path);
  } catch (const Error&) {  // below a file, or below a folder that may not be read
    return false;
  }
}

}  // namespace

double machine_memory() {
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return std::min(pages * static_cast<double>(::sysconf(_SC_PAGE_SIZE)), limit_of_group());
}

std::string existing_folder(const std::string& path) {
  auto at = path.empty() ? std::string(".") : path;
  while (!is_there(at)) {
    const auto above = parent_path(at);
    if (above.empty() || above == at) return ".";
    at = above;
  }
  return at;
}

std::string why_not_writable(const std::string& path) {
  try {
    const auto at = existing_folder(path);
    const auto info = files().info(at);
    if (info && !info->is_directory)
      return fmt::format("{} cannot be made: {} is a file, no folder", path, at);
    if (::access(at.c_str(), W_OK | X_OK) == 0) return "";
    return fmt::format("{} cannot be written: nothing may be made in {}", path, at);
  } catch (const Error& e) {
    return e.what();
  }
}

std::optional<double> free_bytes(const std::string& path) {
  try {
    return static_cast<double>(files().free_space(existing_folder(path)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace bora::run
