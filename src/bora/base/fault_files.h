// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "bora/base/exchange.h"
#include "bora/base/file.h"
#include "bora/base/link.h"

namespace bora {

/// What FaultFiles can count and break.
enum class FileOperation {
  Open,
  Create,
  Append,
  Read,
  Write,
  Sync,
  Close,
  List,
  MakeDirectories,
  Rename,
  Remove,
  Truncate,
  SyncDirectory,
  Lock,
  Link
};
std::string_view name_of(FileOperation operation);

/// The fault that FaultFiles injects.
struct Fault {
  std::int64_t nth = 0;       ///< the n-th counted operation fails, from 1; 0: none
  int error_number = ENOSPC;  ///< what the operation reports
  /// Which operations are counted; empty: all that change the disk (not Open, Read, List, Lock).
  std::set<FileOperation> operations = {};
  /// A failing write first writes the front half of its bytes, as a full disk does.
  bool short_write = false;
  /// Every later counted operation fails too, as if the process had died there: nothing is cleaned up.
  bool stays_broken = false;
};

/// A file system for tests that fails once, at a chosen operation. A writer is correct if this loop ends:
///
///     for (std::int64_t n = 1;; ++n) {
///       FaultFiles broken(files(), {.nth = n});
///       ScopedFileSystem scope(broken);
///       try { save(path); } catch (const Error&) {}
///       ...                                           // what must hold, whatever failed
///       if (!broken.fired()) break;                   // all operations have been tried
///     }
///
/// Any number of threads may use it. Operations are counted in the order in which they arrive.
class FaultFiles : public FileSystem, public ExchangingFiles, public LinkingFiles {
 public:
  explicit FaultFiles(FileSystem& inner, Fault fault = {}) : inner_(inner), fault_(std::move(fault)) {}

  bool fired() const { return fired_; }              ///< whether the fault has happened
  std::string fired_at() const;                      ///< "rename a.tmp", or "" before
  std::int64_t counted() const { return counted_; }  ///< operations that could have failed
  std::int64_t count(FileOperation operation) const;

  std::unique_ptr<ReadFile> open(const std::string& path) override;
  std::unique_ptr<WriteFile> create(const std::string& path, Access access = Access::Umask) override;
  std::unique_ptr<WriteFile> append(const std::string& path, Access access = Access::Umask) override;
  std::optional<FileInfo> info(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  bool exchange(const std::string& a, const std::string& b) override;  ///< counts as a rename
  void link(const std::string& target, const std::string& path) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, std::uint64_t size) override;
  void sync_directory(const std::string& path) override;
  std::uint64_t free_space(const std::string& path) override;
  std::unique_ptr<FileLock> try_lock(const std::string& path) override;

 private:
  friend class FaultReadFile;
  friend class FaultWriteFile;
  bool breaks(FileOperation operation, const std::string& path);
  void step(FileOperation operation, const std::string& path);  ///< counts, and throws where it is time
  [[noreturn]] void throw_fault(FileOperation operation, const std::string& path) const;

  FileSystem& inner_;
  Fault fault_;
  std::atomic<std::int64_t> counted_{0};
  std::array<std::atomic<std::int64_t>, 15> counts_{};
  std::atomic<bool> fired_{false};
  std::string fired_at_;  // written once, before fired_
};

}  // namespace bora
