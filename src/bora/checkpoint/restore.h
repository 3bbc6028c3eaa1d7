// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string>

#include "bora/checkpoint/checkpoint.h"

namespace bora::checkpoint {

struct Restored {
  std::string path;
  Manifest manifest;
  Json state;
};

/// Compares every file with the manifest: sizes and hashes, block by block. Corruption names the file and the
/// range of bytes: "step-600: model-00001-of-00002.safetensors: hash differs from the manifest (byte range
/// 4,194,304-8,388,607); the file is damaged".
Manifest verify_checkpoint(const std::string& checkpoint);

/// Verifies, then copies the checkpoint into the live arrays, in place. Nothing is written before everything
/// fits: names, shapes, types (fp32 arrays take any floating type). Errors: Corruption as above;
/// InvalidArgument for what does not fit, e.g. "while restoring attn.q_proj.weight from step-400: the
/// checkpoint has [embed=512], the model has [embed=768]".
Restored restore_checkpoint(const std::string& checkpoint, std::span<const CheckpointArray> parameters,
                            std::span<const CheckpointArray> optimizer);
/// Parameters only: to begin another run with them.
Restored restore_parameters(const std::string& checkpoint, std::span<const CheckpointArray> parameters);

/// The newest valid checkpoint of a run, or nothing if there is none. A damaged one costs a warning that says
/// why, is renamed to step-N.damaged, and the one before it is tried. If all are damaged: Corruption. Only
/// for the run's owner.
std::optional<Restored> restore_latest(const std::string& run_directory,
                                       std::span<const CheckpointArray> parameters,
                                       std::span<const CheckpointArray> optimizer);

/// `path` itself if it is a checkpoint, else the newest committed one in it. NotFound.
std::string find_checkpoint(const std::string& path);

}  // namespace bora::checkpoint
