// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/manifest.h"
#include "bora/core/host_view.h"
#include "bora/core/parameter.h"
#include "bora/mesh/axis_cut.h"
#include "bora/optim/optimizer.h"

namespace bora::checkpoint {

/// An array with the name under which checkpoints keep it. Contiguous.
struct CheckpointArray {
  std::string path;                     ///< "layers.0.attn.q_proj.weight", "mu/layers.0...."
  std::vector<std::string_view> names;  ///< axes
  core::Array array;
  /// Restoring: the array is this worker's shard of a whole one, cut over several workers; with `outer`, of
  /// a shard of a shard of a whole one, from the outermost on.
  mesh::AxisCut cut = {};
  int worker = 0;
  struct Outer {
    mesh::AxisCut cut;
    int worker = 0;
  };
  std::vector<Outer> outer = {};
  /// The id of the parameter that it lies like, shard for shard (itself, or its optimizer state); none:
  /// replicated.
  std::optional<std::size_t> parameter = {};

  bool whole() const { return cut.replicated() && outer.empty(); }
  std::vector<std::int64_t> whole_sizes() const;
  /// This worker's shard of a whole array, into `array` (fp32, or rounded to bf16).
  void take(const float* whole) const;
};
std::vector<CheckpointArray> checkpoint_arrays(std::span<const core::Parameter> parameters);
std::vector<CheckpointArray> checkpoint_arrays(std::span<const optim::NamedArray> state);

/// Several workers write one checkpoint together, each its own arrays into files of its own. The first one
/// waits for the others' files and makes the checkpoint visible.
struct SavePart {
  int index = 0, count = 1;
};

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
  SavePart part;
  bool owned = false;  ///< nobody changes the arrays any more: they are kept until written, not copied
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
  SavePart part;
  std::vector<core::HostView> kept;             ///< what the bytes belong to: of parameters, then optimizer
  const std::atomic<bool>* given_up = nullptr;  ///< rank 0 of several need not wait any longer
  std::uint64_t tensor_bytes() const;
};
CheckpointView view_of(const CheckpointContent& content);

struct SaveOptions {
  std::uint64_t max_shard_bytes = 5'000'000'000;
  double part_deadline = 120;  ///< seconds that the first of several workers waits for the others' files
};

/// Writes run_directory/step-N and returns its manifest. Everything goes into a temporary directory beside
/// it; each file is fsynced, the manifest last; then one rename and an fsync of the run directory make it
/// visible. A failure or crash at any moment leaves either no step-N or a whole one. Errors: InvalidArgument
/// if step-N exists (nothing is ever overwritten); Io, with the path, errno's text, and the space needed and
/// free where it was full. With several workers all but the first return when their own files are written.
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

/// Paths of all that is named step-N, whatever it is, by step. Empty if run_directory does not exist.
std::vector<std::string> named_checkpoints(const std::string& run_directory);
/// Those that hold a manifest.
std::vector<std::string> committed_checkpoints(const std::string& run_directory);

/// Reads a checkpoint's manifest. Errors as parse_manifest; NotFound if there is none.
Manifest read_manifest(const std::string& checkpoint);

/// Makes a temporary checkpoint permanent: its manifest is replaced in one step.
void make_permanent(const std::string& checkpoint);

/// Removes what writers and pruners that died have left in the run directory, half-written small files too.
/// Only for the run's owner (run_lock.h).
void clean_leftovers(const std::string& run_directory);

/// Removes a checkpoint: first it becomes invisible, then its files go.
void remove_checkpoint(const std::string& checkpoint);

}  // namespace bora::checkpoint
