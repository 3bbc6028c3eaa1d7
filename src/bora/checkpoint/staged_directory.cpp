// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/staged_directory.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>

#include "bora/base/error.h"
#include "bora/base/exchange.h"
#include "bora/base/log.h"

// Beside NAME:
//   .NAME.tmp-PID-N          being filled; after the exchange, what stood at NAME before
//   .NAME.tmp-PID-N.lock     locked while the writer lives
//   .NAME.old                what stood at NAME, where the file system cannot exchange

namespace bora::checkpoint {
namespace {

constexpr std::string_view kLock = ".lock";

void remove_if_possible(const std::string& path) noexcept {
  try {
    remove_all(path);
  } catch (const std::exception&) {  // the next writer tries again
  }
}

std::unique_ptr<FileLock> lock_if_possible(const std::string& path) {
  try {
    return files().try_lock(path);
  } catch (const Error&) {  // a file system without locks: nothing is cleaned up there
    return nullptr;
  }
}

bool rename_if_there(const std::string& from, const std::string& to) {
  try {
    files().rename(from, to);
    return true;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NotFound) throw;
    return false;
  }
}

void remove_if_dead(const std::string& directory) {
  const std::string path = directory + std::string(kLock);
  if (const auto lock = lock_if_possible(path)) {
    remove_if_possible(directory);
    remove_if_possible(path);
  }
}

}  // namespace

StagedDirectory::StagedDirectory(const std::string& place)
    : place_(path_join(parent_path(place), base_name(place))) {
  static std::atomic<std::uint64_t> counter{0};
  path_ = beside(fmt::format("tmp-{}-{}", ::getpid(), counter++));
  files().make_directories(parent_path(place_));
  clean_up();
  lock_ = lock_if_possible(path_ + std::string(kLock));
  try {
    files().make_directories(path_);
  } catch (...) {
    remove_if_possible(path_ + std::string(kLock));
    throw;
  }
}

StagedDirectory::~StagedDirectory() {
  if (!in_place_) remove_if_possible(path_);
  remove_if_possible(path_ + std::string(kLock));
}

std::string StagedDirectory::beside(std::string_view end) const {
  return path_join(parent_path(place_), fmt::format(".{}.{}", base_name(place_), end));
}

void StagedDirectory::clean_up() const {
  try {
    if (const std::string old = beside("old"); exists(old)) {
      if (exists(place_))
        remove_all(old);
      else
        files().rename(old, place_);
    }
    const std::string start = base_name(beside("tmp-"));
    for (std::string name : files().list(parent_path(place_))) {
      if (!name.starts_with(start)) continue;
      if (name.ends_with(kLock)) name.resize(name.size() - kLock.size());
      remove_if_dead(path_join(parent_path(place_), name));
    }
  } catch (const Error&) {  // a directory that cannot be listed, say: what is left there does no harm
  }
}

// After this the new directory has the name, and path_ what had it before, if anything.
void StagedDirectory::step_in() {
  try {
    if (change_places(path_, place_)) return;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::NotFound) throw;
  }
  const std::string old = beside("old");
  const bool replaces = rename_if_there(place_, old);
  try {
    files().rename(path_, place_);
  } catch (...) {
    if (replaces) files().rename(old, place_);
    throw;
  }
  if (!replaces) return;
  files().sync_directory(parent_path(place_));  // or a loss of power keeps the last of three renames alone
  files().rename(old, path_);
}

void StagedDirectory::put_in_place() {
  files().sync_directory(path_);
  step_in();
  in_place_ = true;
  files().sync_directory(parent_path(place_));
  try {
    remove_all(path_);
  } catch (const Error& e) {
    log_warning("{}: what stood there before is not removed: {}", place_, e.what());
  }
}

}  // namespace bora::checkpoint
