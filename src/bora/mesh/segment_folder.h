// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/base/file.h"

namespace bora::mesh {

/// A folder of this process alone for the memory that MPI shares between workers of one machine, a file each.
/// A process that is killed leaves such files, megabytes of memory that nobody frees: whoever makes the next
/// folder removes those of the same user that no process holds any more. Holding is a lock that the system
/// gives back when a process dies, and that counts in all containers that see the folder.
class SegmentFolder {
 public:
  /// In `place`, a file system in memory. Never throws: where no folder can be made, path() is empty.
  explicit SegmentFolder(const std::string& place = "/dev/shm") noexcept;
  ~SegmentFolder();
  SegmentFolder(const SegmentFolder&) = delete;
  SegmentFolder& operator=(const SegmentFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace bora::mesh
