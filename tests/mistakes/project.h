// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The folder in which mistakes are made.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/posix_files.h"

namespace bora::mistakes {

struct Ended {
  int code = 0;
  std::string output;  ///< standard output, then standard error
};

/// The program, called as from a shell, in this process.
Ended run(const std::vector<std::string>& words);

/// The real file system without waiting for the disk.
class UnsyncedFiles : public PosixFileSystem {
 public:
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
    return std::make_unique<File>(PosixFileSystem::create(path, access));
  }
  void sync_directory(const std::string&) override {}

 private:
  struct File : WriteFile {
    explicit File(std::unique_ptr<WriteFile> inner) : inner_(std::move(inner)) {}
    void write(std::span<const std::byte> bytes) override { inner_->write(bytes); }
    void sync() override {}
    void close() override { inner_->close(); }
    std::unique_ptr<WriteFile> inner_;
  };
};

/// A folder of its own, which is the working directory while it lives:
///
///     config.yaml, one.txt, two.txt     a small GPT-2 on two texts
///     runs/run                          trained on them for two steps, with a checkpoint after each
///     model                             its export
///     cache                             its token cache
class Project {
 public:
  Project();
  ~Project();
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  /// Does what a `given:` names: "cut PATH", "flip PATH", "empty PATH", "without PATH", "folder PATH", "copy PATH TO",
  /// "move PATH TO", "bytes PATH HEX", "replace PATH WORD BY", "pipe PATH", "busy PATH". What comes back holds
  /// what another process would.
  static std::shared_ptr<FileLock> give(const std::string& word);
  /// Everything that is there but locks: names, and of files what they hold.
  static std::map<std::string, std::string> content();
  /// Names of what is not as in `before`; without token caches and tokenizers, which the next start uses.
  static std::vector<std::string> changed(const std::map<std::string, std::string>& before);
  /// Puts back what is not as it was in the beginning.
  void restore();

 private:
  UnsyncedFiles unsynced_;
  ScopedFileSystem scope_;
  std::string before_, folder_;
  std::map<std::string, std::string> whole_;
  std::set<std::string> folders_;
};

}  // namespace bora::mistakes
