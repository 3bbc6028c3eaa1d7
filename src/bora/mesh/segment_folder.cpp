// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/segment_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bora/base/clock.h"
#include "bora/base/error.h"

namespace bora::mesh {
namespace {

constexpr const char* kLock = "lock";

// A folder of this user, no link to one.
bool is_own_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

std::string prefix() { return fmt::format("bora-mpi-{}-", ::geteuid()); }

// Of processes that have died: a lock that can be taken is held by none.
void sweep(const std::string& place) {
  for (const auto& name : files().list(place)) {
    const auto path = path_join(place, name);
    if (!name.starts_with(prefix()) || !is_own_folder(path)) continue;
    try {
      if (const auto lock = files().try_lock(path_join(path, kLock))) remove_all(path);
    } catch (const Error&) {  // another process sweeps too
    }
  }
}

}  // namespace

// It gets its name when it is locked: what bears such a name and no lock belongs to nobody.
SegmentFolder::SegmentFolder(const std::string& place) noexcept {
  try {
    sweep(place);
    const auto id = fmt::format("{}-{:x}", ::getpid(), static_cast<std::uint64_t>(wall_seconds() * 1e6));
    const auto unnamed = path_join(place, ".new-" + prefix() + id), path = path_join(place, prefix() + id);
    if (::mkdir(unnamed.c_str(), 0700) != 0) return;
    lock_ = files().try_lock(path_join(unnamed, kLock));
    files().rename(unnamed, path);
    path_ = path;
  } catch (const Error&) {  // MPI has a place of its own
  }
}

SegmentFolder::~SegmentFolder() {
  if (path_.empty()) return;
  try {
    remove_all(path_);
  } catch (const Error&) {  // the next process removes it
  }
}

}  // namespace bora::mesh
