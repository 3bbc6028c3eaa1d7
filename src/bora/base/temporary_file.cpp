// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/temporary_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>

#include "bora/base/file.h"

namespace bora {

std::string temporary_beside(const std::string& path) {
  static std::atomic<std::uint64_t> counter{0};
  return path_join(parent_path(path), fmt::format(".{}.{}.{}.tmp", base_name(path), ::getpid(), counter++));
}

void remove_unfinished(const std::string& path) noexcept {
  try {
    files().remove(path);
  } catch (const std::exception&) {  // as the header says
  }
}

}  // namespace bora
