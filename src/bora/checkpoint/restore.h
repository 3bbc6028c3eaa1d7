// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/mesh/communicator.h"

namespace bora::checkpoint {

struct Restored {
  std::string path;
  Manifest manifest;
  Json state;
};

/// Compares every file with the manifest: sizes and hashes, chunk by chunk; state.json must be among them.
/// Corruption names the file and the
/// range of bytes: "step-600: model-00001-of-00002.safetensors: hash differs from the manifest (byte range
/// 4,194,304-8,388,607); the file is damaged".
Manifest verify_checkpoint(const std::string& checkpoint);

/// A checkpoint that this process has verified, and its files as they were then.
struct VerifiedCheckpoint {
  std::string path;
  Manifest manifest;
  std::vector<FileInfo> files;
};
/// verify_checkpoint, so that a restore after it need not read all of it again (RestoreOptions::verified).
VerifiedCheckpoint verify_for_restore(const std::string& checkpoint);

/// Verifies, then copies the checkpoint into the live arrays, in place. Nothing is written before everything
/// fits: names, shapes, types (fp32 arrays take any floating type). Errors: Corruption as above;
/// InvalidArgument for what does not fit, e.g. "while restoring attn.q_proj.weight from step-400: the
/// checkpoint has [embed=512], the model has [embed=768]".
Restored restore_checkpoint(const std::string& checkpoint, std::span<const CheckpointArray> parameters,
                            std::span<const CheckpointArray> optimizer);
/// Parameters only: to begin another run with them.
Restored restore_parameters(const std::string& checkpoint, std::span<const CheckpointArray> parameters);

/// What restore_parameters, and what restore_checkpoint of the optimizer asks of names, shapes and types, before any
/// value is read. Errors: InvalidArgument.
void require_fit(const std::string& checkpoint, std::span<const CheckpointArray> parameters);
void require_fit_of_state(const std::string& checkpoint, std::span<const CheckpointArray> optimizer);

struct RestoreOptions {
  /// Takes the small state over. What it throws as Corruption counts as damage of the checkpoint.
  std::function<void(const Json& state)> take_state;
  /// The workers of the run, who all call together and go on from the same checkpoint. Null: this one alone.
  mesh::Communicator* workers = nullptr;
  /// Its hashes are not compared again if its files are the same. Null: there is none.
  const VerifiedCheckpoint* verified = nullptr;
};

/// The newest checkpoint of a run that is valid and can be read, on all workers, or nothing if the run has
/// none. One that is damaged, incomplete or cannot be read costs a warning that says why, and the one before
/// it is tried; once a valid one is found, those are renamed to step-N.damaged. If none is valid: Corruption,
/// and nothing is renamed. Only for the run's owner: of several workers the first, who alone lists, warns and
/// renames.
std::optional<Restored> restore_latest(const std::string& run_directory,
                                       std::span<const CheckpointArray> parameters,
                                       std::span<const CheckpointArray> optimizer,
                                       const RestoreOptions& options = {});

/// The words of an error about a damaged checkpoint with its whole path, and as what to do next the newest one beside
/// it that is whole, if one is: commands that were told a run do not choose an older one in silence.
std::string naming_another(const std::string& checkpoint, std::string error);

/// `path` itself if it is a checkpoint, else the newest committed one in it. NotFound.
std::string find_checkpoint(const std::string& path);

}  // namespace bora::checkpoint
