// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

/// What a FileSystem may be able to do besides.
class LinkingFiles {
 public:
  virtual ~LinkingFiles() = default;
  /// As link_to.
  virtual void link(const std::string& target, const std::string& path) = 0;
};

/// By way of files(): makes `path` a symbolic link to `target`, which is read from the directory of `path` and need
/// not be there. The directory is not synced. Errors: Io where something is at `path` already, or the file
/// system has no links.
void link_to(const std::string& target, const std::string& path);

}  // namespace bora
