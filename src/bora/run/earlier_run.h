// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora::run {

/// The run that --fresh begins anew: while it lives, kept beside its directory as <directory>.before-1, -2, ... It comes
/// back in the end where nothing took its place: a start that failed, and left no directory.
class EarlierRun {
 public:
  /// Io error naming the process that writes there, if one does. Nothing where there is no such directory.
  explicit EarlierRun(const std::string& directory);
  ~EarlierRun();
  EarlierRun(const EarlierRun&) = delete;
  EarlierRun& operator=(const EarlierRun&) = delete;

 private:
  std::string directory_, kept_;
};

}  // namespace bora::run
