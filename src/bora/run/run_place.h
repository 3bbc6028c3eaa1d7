// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/base/file.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Where a run keeps its things.
struct RunPlace {
  std::string id;
  std::string directory;  ///< <checkpointer.base_path>/<id>
  std::string command;    ///< files and overrides that mean this run, as a shell takes them

  /// What people would have read, from where nobody read it any more (base/output.h).
  std::string log() const { return path_join(directory, "log.txt"); }
};
RunPlace run_place(const LmConfig& config);

/// The same; a name that cannot be that of a folder becomes one of the problems, and another stands in its place.
RunPlace place_or_problem(LoadedConfig& loaded);

}  // namespace bora::run
