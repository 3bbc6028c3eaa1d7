// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/file.h"

namespace bora::fuzz {

/// Files that are only read and only in memory, put in place of files() while it lives. A path is a directory
/// if a file lies below it.
class MemoryFiles final : public FileSystem {
 public:
  explicit MemoryFiles(std::map<std::string, std::string> contents)
      : contents_(std::move(contents)), scope_(*this) {}

  std::unique_ptr<ReadFile> open(const std::string& path) override;
  std::optional<FileInfo> info(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override;
  std::unique_ptr<WriteFile> append(const std::string& path, Access access) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, std::uint64_t size) override;
  void sync_directory(const std::string& path) override;
  std::uint64_t free_space(const std::string& path) override;
  std::unique_ptr<FileLock> try_lock(const std::string& path) override;

 private:
  std::map<std::string, std::string> contents_;
  ScopedFileSystem scope_;
};

}  // namespace bora::fuzz
