// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/manifest.h"
#include "bora/core/param.h"
#include "bora/optim/optimizer.h"

namespace bora::checkpoint {

/// An array with the name under which checkpoints keep it. Contiguous, in host memory.
struct CheckpointArray {
  std::string path;                     ///< "layers.0.attn.q_proj.weight", "mu/layers.0...."
  std::vector<std::string_view> names;  ///< axes
  core::Array array;
};
std::vector<CheckpointArray> checkpoint_arrays(std::span<const core::ParamRef> parameters);
std::vector<CheckpointArray> checkpoint_arrays(std::span<const optim::NamedArray> state);

/// All that a run needs to go on.
struct CheckpointContent {
  std::int64_t step = 0;
  std::int64_t lanes = 1;
  std::string mesh = "self";
  std::string config_hash;
  bool temporary = false;
  std::vector<CheckpointArray> parameters;
  std::vector<CheckpointArray> optimizer;
  Json state;  ///< keys, loader position, schedule, skip-step window, ...: small
};

/// The same as bytes that stay valid until written: what a writer in the background works on.
struct TensorView {
  std::string name;
  core::DType dtype = core::DType::f32;
  std::vector<std::int64_t> shape;
  std::string axes;  ///< "mlp,embed"
  std::span<const std::byte> bytes;
};
struct CheckpointView {
  Manifest manifest;  ///< without files
  std::vector<TensorView> parameters, optimizer;
  std::string state;  ///< JSON text
  std::uint64_t tensor_bytes() const;
};
CheckpointView view_of(const CheckpointContent& content);

struct SaveOptions {
  std::uint64_t max_shard_bytes = 5'000'000'000;
};

/// Writes run_directory/step-N and returns its manifest. Everything goes into a temporary directory beside
/// it; each file is fsynced, the manifest last; then one rename and an fsync of the run directory make it
/// visible. A failure or crash at any moment leaves either no step-N or a whole one. Errors: InvalidArgument
/// if step-N exists (nothing is ever overwritten); Io, with the path, errno's text, and the space needed and
/// free where it was full.
Manifest save_checkpoint(const std::string& run_directory, const CheckpointContent& content,
                         const SaveOptions& options = {});
Manifest write_checkpoint(const std::string& run_directory, const CheckpointView& view,
                          const SaveOptions& options = {});

/// A committed checkpoint.
struct CheckpointInfo {
  std::string path;
  Manifest manifest;
};

std::string checkpoint_name(std::int64_t step);                   ///< "step-400"
std::optional<std::int64_t> step_of_name(std::string_view name);  ///< strict: "step-0400" is none

/// Paths of the directories step-N that hold a manifest, by step. Empty if run_directory does not exist.
std::vector<std::string> committed_checkpoints(const std::string& run_directory);

/// Reads a checkpoint's manifest. Errors as parse_manifest; NotFound if there is none.
Manifest read_manifest(const std::string& checkpoint);

/// Makes a temporary checkpoint permanent: its manifest is replaced in one step.
void make_permanent(const std::string& checkpoint);

/// Removes what writers and pruners that died have left in the run directory. Only for the run's owner
/// (run_lock.h).
void clean_leftovers(const std::string& run_directory);

/// Removes a checkpoint: first it becomes invisible, then its files go.
void remove_checkpoint(const std::string& checkpoint);

}  // namespace bora::checkpoint
