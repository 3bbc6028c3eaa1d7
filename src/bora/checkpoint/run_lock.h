// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/base/file.h"

namespace bora::checkpoint {

/// The right to write into a run directory, held by one process at a time: an advisory lock on its file
/// `.lock`, which the system releases when the process ends, however it ends. Creates the directory, and removes
/// one that it created if nothing else is in it at the end. The file tells who holds it.
class RunLock {
 public:
  /// Io error naming the holder's process and host if another process has it.
  explicit RunLock(const std::string& run_directory);

  const std::string& run_directory() const { return run_directory_; }

 private:
  std::string run_directory_;
  std::unique_ptr<FileLock> lock_;
};

/// Who holds the lock of a run directory now: "process 7 on host since TIME"; "" if nobody does.
std::string holder_of_run(const std::string& run_directory);

}  // namespace bora::checkpoint
