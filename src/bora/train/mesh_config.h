// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/config.h"
#include "bora/core/parameter.h"
#include "bora/mesh/mesh.h"

namespace bora::train {

using AxisMap = std::vector<std::pair<std::string, std::string>>;
using AxisSizes = std::vector<std::pair<std::string, std::int64_t>>;

/// Levanter's newer block `mesh:`.
struct MeshBlock {
  AxisSizes axes;      ///< data (-1: what is left), replica, model, context, expert
  AxisSizes dcn_axes;  ///< replica_dcn: replicas on slower links; they count as replicas
  std::optional<std::vector<std::string>> tensor_parallel_axes;
  AxisMap compute_mapping, shared_mapping, param_mapping;
  void bind(Binder& b);
};

/// How workers are arranged, and which axes of a model each axis of the mesh serves, in Levanter's older and
/// newer keys. Without any of them all workers are on the axis data.
struct MeshConfig {
  std::int64_t model_axis_size = 1, context_axis_size = 1, replica_ici_axis_size = 1,
               replica_dcn_axis_size = 1;
  std::optional<std::int64_t> tensor_lanes;
  std::optional<std::vector<std::string>> tensor_parallel_axes;
  AxisMap axis_resources, parameter_axis_resources;
  MeshBlock mesh;

  std::int64_t model_size() const;     ///< of either spelling
  std::int64_t least_workers() const;  ///< that make the mesh; Config error for more than can be
  /// Adds the keys to the trainer's.
  void bind(Binder& b);
};

/// What a key says of one axis of a model.
struct NamedAxis {
  std::string name;               ///< as it is written there
  std::vector<std::string> cuts;  ///< what it stands for: Levanter's heads are those of keys and values, too
};

/// The axes that a key divides over workers. A mapping's others (batch: data) change nothing.
struct AxesOfKey {
  std::string key;  ///< "trainer.fsdp_axis"
  std::vector<NamedAxis> axes;
  bool of_parameters = false;  ///< alone: what only inputs have is not divided
};
std::vector<AxesOfKey> named_axes(const MeshConfig& config,
                                  const std::optional<std::vector<std::string>>& fsdp_axis);

/// The mesh of a run.
struct MeshPlan {
  mesh::MeshShape shape;
  mesh::Mesh::Rules rules;
  std::vector<std::string> fsdp_axes;  ///< what is cut over data; none: parameters are replicated there
};

/// Config error where the sizes do not make `workers`.
MeshPlan resolve_mesh(const MeshConfig& config, const std::optional<std::vector<std::string>>& fsdp_axis,
                      int workers, std::int64_t vocab_size);

/// Config error where workers stand along the axis expert and no parameter of a model (of `type`) is cut over
/// it: each would do the same.
void require_experts(const MeshPlan& plan, std::span<const core::Parameter> parameters,
                     std::string_view type);

}  // namespace bora::train
