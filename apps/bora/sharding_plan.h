// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Where each parameter of a configuration would lie on so many workers, from shapes alone.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/mesh/axis_cut.h"
#include "model_config.h"

namespace bora::app {

struct PlannedParameter {
  std::string path;
  std::vector<std::string_view> names;
  std::vector<std::int64_t> sizes;
  mesh::AxisCut cut;       ///< over the workers; whole where no axis of it is cut
  bool in_layers = false;  ///< gathered layer by layer; others stay for a step
  std::int64_t elements() const;
};

/// What one worker holds, in bytes.
struct WorkerShare {
  double parameters = 0, gradients = 0, optimizer = 0;
  double gathered = 0;  ///< at most: what stays for a step, and the largest layer
  double activations = 0;
  double total() const { return parameters + gradients + optimizer + gathered + activations; }
};

struct ShardingPlan {
  int workers = 1;
  std::vector<PlannedParameter> parameters;
  std::vector<WorkerShare> shares;  ///< by worker
  /// Bytes that one worker receives in a step.
  double gathered_bytes = 0, gradient_bytes = 0;
};

struct PlanOptions {
  std::int64_t vocab = 0, batch = 0, lanes = 1;
  std::vector<std::string> axes;  ///< trainer.fsdp_axis; none: whole on every worker
  int workers = 1;
  core::DType compute = core::DType::f32;
};

/// Makes the model without values. Config error where there are more workers than lanes.
ShardingPlan plan_sharding(const ModelConfig& config, const PlanOptions& options);

/// One line a parameter (layers that are alike once), each worker's block drawn: "embed ▏0▕1▕2▕3▕".
std::string draw_text(const ShardingPlan& plan);
/// The same as an SVG image.
std::string draw_svg(const ShardingPlan& plan);

}  // namespace bora::app
