// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests of what writes files: each operation fails in turn.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bora/base/error.h"
#include "bora/base/fault_files.h"
#include "bora/base/file.h"
#include "bora/base/posix_files.h"

namespace bora::test {

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

/// Names below a folder, with its folders, and what the files hold.
inline std::map<std::string, std::string> all_files(const std::string& folder,
                                                    const std::string& below = "") {
  std::map<std::string, std::string> out;
  for (const auto& name : files().list(path_join(folder, below))) {
    const auto path = below.empty() ? name : path_join(below, name);
    if (files().info(path_join(folder, path))->is_directory)
      out.merge(all_files(folder, path));
    else
      out[path] = read_text(path_join(folder, path));
  }
  return out;
}

/// `write(true)` makes the files of `folder`, or of folders in it, new ones where `write(false)` had made the old ones.
/// With each of its operations failing in turn, on a full disk and on one that fails, in half of a write and
/// before it: every file is the old or the new one, no other is left, the error names a path in the folder and
/// the reason, and a second try succeeds.
inline void expect_old_or_new_whatever_fails(const std::string& folder,
                                             const std::function<void(bool fresh)>& write) {
  UnsyncedFiles unsynced;
  const ScopedFileSystem quick(unsynced);
  const auto made = [&](bool fresh) {
    remove_all(folder);
    files().make_directories(folder);
    write(false);
    if (fresh) write(true);
    return all_files(folder);
  };
  const auto fresh = made(true), old = made(false);
  ASSERT_NE(old, fresh) << "a write that can be told from the one before";
  std::int64_t tried = 0;
  for (const int error : {ENOSPC, EIO}) {
    for (std::int64_t n = 1;; ++n) {
      made(false);
      FaultFiles broken(files(), {.nth = n, .error_number = error, .short_write = error == ENOSPC});
      std::string message;
      {
        const ScopedFileSystem scope(broken);
        try {
          write(true);
        } catch (const Error& e) {
          message = e.what();
        }
      }
      SCOPED_TRACE(broken.fired_at());
      if (!broken.fired()) break;
      ++tried;
      EXPECT_THAT(message, testing::HasSubstr(folder));
      EXPECT_THAT(message,
                  testing::HasSubstr(error == ENOSPC ? "No space left on device" : "Input/output error"));
      for (const auto& file : all_files(folder)) {
        const auto is = [&file](const std::map<std::string, std::string>& all) {
          const auto found = all.find(file.first);
          return found != all.end() && found->second == file.second;
        };
        EXPECT_TRUE(is(old) || is(fresh)) << file.first << " is neither the old nor the new one";
      }
      for (const auto& [name, content] : old)
        EXPECT_TRUE(exists(path_join(folder, name))) << name << " is gone";
      EXPECT_NO_THROW(write(true)) << "a second try";
      EXPECT_EQ(all_files(folder), fresh);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GE(tried, 10) << "create, write, sync, close, rename or more";
}

}  // namespace bora::test
