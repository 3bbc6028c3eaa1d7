// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/base/exchange.h"
#include "bora/base/file.h"
#include "bora/base/link.h"

namespace bora {

/// The operating system's files, by POSIX calls. Calls that a signal interrupts are repeated, short writes
/// continued. Nothing is buffered: one write() is one system call. A loss of power leaves the directories
/// that make_directories() has made.
class PosixFileSystem : public FileSystem, public ExchangingFiles, public LinkingFiles {
 public:
  std::unique_ptr<ReadFile> open(const std::string& path) override;
  std::unique_ptr<WriteFile> create(const std::string& path, Access access = Access::Umask) override;
  std::unique_ptr<WriteFile> append(const std::string& path, Access access = Access::Umask) override;
  std::optional<FileInfo> info(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  bool exchange(const std::string& a, const std::string& b) override;
  void link(const std::string& target, const std::string& path) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, std::uint64_t size) override;
  void sync_directory(const std::string& path) override;
  std::uint64_t free_space(const std::string& path) override;
  std::unique_ptr<FileLock> try_lock(const std::string& path) override;
};

}  // namespace bora
