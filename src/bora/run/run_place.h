// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>

#include "bora/base/file.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Where a run keeps its things.
struct RunPlace {
  std::string id;
  std::string directory;  ///< <checkpointer.base_path>/<id>
  std::string command;    ///< files and overrides that mean this run, as a shell takes them
  /// <hf_save_path>/<id> and <peft_save_path>/<id>, as in Levanter: runs that share the key share no folder. Without <id>
  /// where checkpointer.append_run_id_to_base_path is false.
  std::optional<std::string> exports, adapters;

  /// What people would have read, from where nobody read it any more (base/output.h).
  std::string log() const { return path_join(directory, "log.txt"); }
};
RunPlace run_place(const LmConfig& config);

/// The same; a name that cannot be that of a folder becomes one of the problems, and another stands in its place.
RunPlace place_or_problem(LoadedConfig& loaded);

}  // namespace bora::run
