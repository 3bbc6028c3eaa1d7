// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Where each parameter of a configuration would lie on so many workers, from shapes alone.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/mesh/axis_cut.h"
#include "bora/run/lm_config.h"
#include "bora/train/mesh_config.h"

namespace bora::run {

/// A dimension in equal shards over the mesh axis expert or model.
struct MeshCut {
  std::string mesh_axis;  ///< "expert" or "model"
  std::size_t dim = 0;
  int blocks = 1;
};

struct PlannedParameter {
  std::string path;
  std::vector<std::string_view> names;
  std::vector<std::int64_t> sizes;
  std::vector<MeshCut> mesh_cuts;  ///< expert before model, as ranks count
  /// Of such a shard, over data, and over expert where that is none of mesh_cuts; whole where no axis is cut.
  mesh::AxisCut cut;
  bool trainable = true;
  double state_bytes = 0;  ///< of the optimizer beside each element
  bool in_layers = false;  ///< gathered layer by layer; others stay for a step
  std::int64_t elements() const;
  int mesh_blocks() const;  ///< of all mesh_cuts together
  int experts() const;      ///< blocks over the mesh axis expert
  bool whole() const { return mesh_cuts.empty() && cut.replicated(); }
  std::int64_t elements_of(int lane_group) const;  ///< that a worker holds
};

/// What one worker holds, in bytes.
struct WorkerShare {
  double parameters = 0, gradients = 0, optimizer = 0;
  double gathered = 0;  ///< at most: what stays for a step, and the largest layer
  double activations = 0;
  double pinned = 0;  ///< of the host, beside the others: SizeEstimate's
  double total() const { return parameters + gradients + optimizer + gathered + activations; }
};

struct ShardingPlan {
  int workers = 1;
  std::int64_t lanes = 1;
  mesh::MeshShape mesh;
  std::vector<PlannedParameter> parameters;
  double replicated_state = 0;      ///< bytes of the optimizer's state that each worker has
  std::vector<WorkerShare> shares;  ///< by lane group: those that share a lane hold equal shares
  /// Bytes that one worker receives in a step.
  double gathered_bytes = 0, gradient_bytes = 0;  ///< over data and expert
  double model_bytes = 0, context_bytes = 0;      ///< over these axes: activations, and gradients' sums
  double expert_bytes = 0;  ///< tokens on their way to experts and back, if all have as many
};

struct PlanOptions {
  std::int64_t vocab = 0, batch = 0, lanes = 1;
  train::MeshPlan mesh;
  std::int64_t seq_len = 0;
  core::DType compute = core::DType::f32;
  bool on_device = false;  ///< of its own, each
};

/// Makes the model without values. Config errors: those of choose_trained; sizes that the mesh axes model and expert do not divide, a
/// model without experts on the latter. InvalidArgument: more groups of workers than lanes (require_lanes).
ShardingPlan plan_sharding(const LmConfig& config, const PlanOptions& options);

/// One line a parameter (layers that are alike once), the shards drawn: "mlp ▏0▏1▕ 64 each over model · embed
/// ▏0▏1▕ 16 each".
std::string draw_text(const ShardingPlan& plan);
/// The same as an SVG image.
std::string draw_svg(const ShardingPlan& plan);
/// In every such picture: one of Bora's may be drawn anew.
inline constexpr std::string_view kPictureMark = "<!-- Bora: who holds what of a model -->";

}  // namespace bora::run
