// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string>

#include "bora/base/file.h"

namespace bora::checkpoint {

/// A directory that appears whole, in place of whatever stands there. It is filled beside its place, under
/// another name; then the two change places in one step, and the old one is removed. A crash at any moment
/// leaves the old one or the new one, and beside it what the next writer to the same place removes (unless
/// its owner still lives).
///
/// Where the file system cannot exchange two directories the old one steps aside first: for a moment neither
/// has the name, and if the process dies just then the next writer puts the old one back.
class StagedDirectory {
 public:
  /// Makes the directory to fill, and removes what dead writers left. Io with the path.
  explicit StagedDirectory(const std::string& place);
  ~StagedDirectory();  ///< removes what was not put in place
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  const std::string& path() const { return path_; }  ///< to be filled; each file is fsynced by who writes it
  void put_in_place();

 private:
  std::string beside(std::string_view end) const;
  void clean_up() const;
  void step_in();

  std::string place_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;  // on path_ + ".lock": the owner lives
  bool in_place_ = false;
};

}  // namespace bora::checkpoint
