// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/machine.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

double physical_memory() {
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

// "SwapTotal:       2097148 kB"
std::optional<double> of_meminfo(std::string_view name) {
  try {
    for (const auto& line : split(read_text("/proc/meminfo"), '\n')) {
      if (!line.starts_with(name) || !line.ends_with(" kB")) continue;
      const auto number = trim(std::string_view(line).substr(name.size(), line.size() - name.size() - 3));
      if (const auto kilobytes = parse_int(number)) return 1024.0 * static_cast<double>(*kilobytes);
    }
  } catch (const Error&) {  // then it is not known
  }
  return std::nullopt;
}

// Where the kernel alone makes files, whatever the rights of its folders say.
bool is_of_the_kernel(const std::string& folder) {
  constexpr std::array kKinds = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                 DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC, SECURITYFS_MAGIC,   TRACEFS_MAGIC};
  struct statfs about {};
  if (::statfs(folder.c_str(), &about) != 0) return false;
  return std::find(kKinds.begin(), kKinds.end(), about.f_type) != kKinds.end();
}

bool is_there(const std::string& path) {
  try {
    return exists(path);
  } catch (const Error&) {  // below a file, or below a folder that may not be read
    return false;
  }
}

}  // namespace

double machine_memory() { return std::min(physical_memory(), limit_of_group()); }

double free_memory() {
  return std::min(machine_memory(), of_meminfo("MemAvailable:").value_or(physical_memory()));
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
    if (is_of_the_kernel(at))
      return fmt::format("{} cannot be made: the files in {} are the kernel's alone", path, at);
    if (::access(at.c_str(), W_OK | X_OK) == 0) return "";
    return fmt::format("{} cannot be written: nothing may be made in {}", path, at);
  } catch (const Error& e) {
    return e.what();
  }
}

std::optional<double> free_bytes(const std::string& path) {
  try {
    if (is_of_the_kernel(existing_folder(path))) return std::nullopt;
    return static_cast<double>(files().free_space(existing_folder(path)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace bora::run
