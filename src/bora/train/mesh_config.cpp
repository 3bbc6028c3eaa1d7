// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/mesh_config.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::train {
namespace {

// Cut over `model` where nothing is said; the vocabulary too if it can be cut evenly.
constexpr const char* kTensorAxes[] = {"kv_head", "heads", "mlp"};
constexpr std::string_view kMeshAxes[] = {"data", "replica", "replica_dcn", "model", "context", "expert"};

std::int64_t* find(AxisSizes& sizes, std::string_view axis) {
  for (auto& [name, size] : sizes)
    if (name == axis) return &size;
  return nullptr;
}

void check_mesh_axis(Binder& b, std::string_view key, const std::string& axis) {
  const std::vector<std::string> known(std::begin(kMeshAxes), std::end(kMeshAxes));
  if (std::find(known.begin(), known.end(), axis) != known.end()) return;
  const auto likely = nearest(axis, known);
  b.problem(key, fmt::format("\"{}\" is no axis of the mesh{}; they are {}", axis,
                             likely ? fmt::format(" (did you mean {}?)", *likely) : "", join(known, ", ")));
}

void check_sizes(Binder& b, std::string_view key, const AxisSizes& sizes) {
  for (const auto& [axis, size] : sizes) {
    check_mesh_axis(b, key, axis);
    if (size == -1 && axis != "data" && axis != "replica_dcn")
      b.problem(key, fmt::format("{} is -1; only data and replica_dcn may be what is left", axis));
  }
}

void check_map(Binder& b, std::string_view key, const AxisMap& map) {
  for (const auto& [axis, mesh_axis] : map) check_mesh_axis(b, key, mesh_axis);
}

void check_tensor_lanes(Binder& b, const MeshConfig& config) {
  if (!config.tensor_lanes) return;
  const auto lanes = *config.tensor_lanes;
  if (lanes < 1 || (lanes & (lanes - 1)) != 0)
    b.problem("tensor_lanes", "it must be a power of two");
  else if (lanes % config.model_size() != 0)
    b.problem("tensor_lanes",
              fmt::format("it must be a multiple of model_axis_size, which is {}", config.model_size()));
}

// Levanter's name of the heads covers those of keys and values, which Bora's Llama cuts.
void add_tensor_axis(std::vector<std::string>& axes, const std::string& axis) {
  if (axis == "heads" || axis == "kv_heads") axes.emplace_back("kv_head");
  axes.push_back(axis);
}

void add_rule(std::vector<core::AxisRule>& rules, std::string axis, std::string mesh_axis) {
  for (const auto& rule : rules)
    if (rule.axis == axis) return;
  rules.push_back({std::move(axis), std::move(mesh_axis)});
}

bool is_of_the_mapping(std::string_view mesh_axis) {
  return mesh_axis == "model" || mesh_axis == "context" || mesh_axis == "expert";
}

// A parameter's positions are cut as they are used.
bool is_at_rest(std::string_view mesh_axis) {
  return mesh_axis == "data" || (is_of_the_mapping(mesh_axis) && mesh_axis != "context");
}

const std::optional<std::vector<std::string>>& tensor_axes(const MeshConfig& config) {
  return config.mesh.tensor_parallel_axes ? config.mesh.tensor_parallel_axes : config.tensor_parallel_axes;
}

// The workers of all axes together must be a number.
void require_countable(const MeshConfig& config) {
  AxisSizes all = config.mesh.axes;
  all.insert(all.end(), config.mesh.dcn_axes.begin(), config.mesh.dcn_axes.end());
  const AxisSizes older = {{"replica", config.replica_ici_axis_size},
                           {"replica_dcn", config.replica_dcn_axis_size},
                           {"model", config.model_axis_size},
                           {"context", config.context_axis_size}};
  for (const auto& [axis, size] : older)
    if (find(all, axis) == nullptr) all.emplace_back(axis, size);
  double workers = 1;
  std::vector<std::string> sizes;
  for (const auto& [axis, size] : all) {
    if (size <= 1) continue;
    workers *= static_cast<double>(size);
    sizes.push_back(fmt::format("{} {}", axis, size));
  }
  if (workers <= kWorkers.most) return;
  fail(ErrorKind::Config,
       "mesh: {} are {:.3g} workers, and there can be {:.0f}\nhint: smaller sizes in trainer.mesh, or in the "
       "keys *_axis_size of trainer",
       join(sizes, " × "), workers, kWorkers.most);
}

// Of either spelling; data is -1 where it is what is left.
mesh::MeshShape shape_asked(const MeshConfig& config) {
  AxisSizes given = config.mesh.axes, slow = config.mesh.dcn_axes;
  require_countable(config);
  const auto size = [&](std::string_view axis, std::int64_t older) {
    const auto* newer = find(given, axis);
    return static_cast<int>(newer != nullptr ? *newer : older);
  };
  mesh::MeshShape shape{.replica = size("replica", config.replica_ici_axis_size),
                        .data = size("data", -1),
                        .expert = size("expert", 1),
                        .context = size("context", config.context_axis_size),
                        .model = static_cast<int>(config.model_size())};
  const auto* dcn = find(slow, "replica_dcn");
  shape.replica *=
      static_cast<int>(std::max<std::int64_t>(1, dcn != nullptr ? *dcn : config.replica_dcn_axis_size));
  return shape;
}

mesh::MeshShape shape_of(const MeshConfig& config, int workers) {
  auto shape = shape_asked(config);
  const int rest = shape.replica * shape.expert * shape.workers_per_lane();
  if (shape.data == -1 && workers % rest == 0) shape.data = workers / rest;
  if (shape.data == -1 || shape.workers() != workers) {
    const bool free = std::exchange(shape.data, std::max(shape.data, 1)) == -1;
    fail(ErrorKind::Config,
         "mesh: {} {} the {} worker{} that {} started\nhint: start {}{} workers, or change "
         "trainer.model_axis_size, trainer.context_axis_size{} or the replicas",
         shape.text(), free ? "does not divide" : "is not", workers, workers == 1 ? "" : "s",
         workers == 1 ? "was" : "were", free ? "a multiple of " : "", shape.workers(),
         shape.expert > 1 ? ", trainer.mesh.axes.expert" : "");
  }
  if ((shape.expert & (shape.expert - 1)) != 0) {
    fail(ErrorKind::Config,
         "mesh: expert is {}, but must be a power of two: the lanes of its workers are added in pairs\nhint: "
         "trainer.mesh.axes.expert of {}",
         shape.expert, std::bit_floor(static_cast<unsigned>(shape.expert)));
  }
  return shape;
}

}  // namespace

void MeshBlock::bind(Binder& b) {
  b.field("axes", axes, or_else(-1, kSize),
          "sizes of data (-1: what is left), replica, model, context and expert (a power of two)");
  b.field("dcn_axes", dcn_axes, or_else(-1, kSize),
          "replica_dcn: replicas on slower links; they count as replicas");
  b.field("tensor_parallel_axes", tensor_parallel_axes, "axes cut over model");
  b.field("compute_mapping", compute_mapping, "axes and the mesh axes that serve them in operations");
  b.field("shared_mapping", shared_mapping, "the same for operations and parameters");
  b.field("param_mapping", param_mapping, "the same for parameters at rest");
  if (!b.reading()) return;
  check_sizes(b, "axes", axes);
  check_sizes(b, "dcn_axes", dcn_axes);
  check_map(b, "compute_mapping", compute_mapping);
  check_map(b, "shared_mapping", shared_mapping);
  check_map(b, "param_mapping", param_mapping);
}

std::int64_t MeshConfig::least_workers() const {
  auto shape = shape_asked(*this);
  shape.data = std::max(shape.data, 1);
  return shape.workers();
}

std::int64_t MeshConfig::model_size() const {
  for (const auto& [axis, size] : mesh.axes)
    if (axis == "model") return std::max<std::int64_t>(1, size);
  return std::max<std::int64_t>(1, model_axis_size);
}

void MeshConfig::bind(Binder& b) {
  b.field("model_axis_size", model_axis_size, kSize,
          "workers that share heads, MLP and vocabulary of a lane (tensor parallel)");
  b.field("context_axis_size", context_axis_size, kSize,
          "workers that share the positions of a lane (context parallel)");
  b.field("replica_ici_axis_size", replica_ici_axis_size, kSize, "groups of workers with lanes of their own");
  b.field("replica_dcn_axis_size", replica_dcn_axis_size, or_else(-1, kSize),
          "the same on slower links; -1: one");
  b.field("tensor_lanes", tensor_lanes, kSize,
          "fixed parts of the sums over axes on model, a power of two that model_axis_size divides: the same "
          "bits for any model_axis_size; default: a part for each worker");
  b.field("tensor_parallel_axes", tensor_parallel_axes,
          "axes cut over model; default: heads, mlp, and vocab where it divides");
  b.field("axis_resources", axis_resources, "axes and the mesh axes that serve them in operations");
  b.field("parameter_axis_resources", parameter_axis_resources, "the same for parameters at rest");
  b.field("mesh", mesh, "Levanter's newer spelling of these keys");
  if (!b.reading()) return;
  check_tensor_lanes(b, *this);
  check_map(b, "axis_resources", axis_resources);
  check_map(b, "parameter_axis_resources", parameter_axis_resources);
}

std::vector<AxesOfKey> named_axes(const MeshConfig& config,
                                  const std::optional<std::vector<std::string>>& fsdp_axis) {
  std::vector<AxesOfKey> out;
  const auto add_list = [&](const char* key, const std::optional<std::vector<std::string>>& axes,
                            bool tensor) {
    if (!axes) return;
    out.push_back({.key = key, .of_parameters = !tensor});
    for (const auto& axis : *axes) {
      out.back().axes.push_back({axis, {}});
      auto& cuts = out.back().axes.back().cuts;
      if (tensor)
        add_tensor_axis(cuts, axis);
      else
        cuts.push_back(axis);
    }
  };
  const auto add_map = [&](const char* key, const AxisMap& map, bool at_rest) {
    out.push_back({.key = key, .of_parameters = at_rest});
    for (const auto& [axis, mesh_axis] : map)
      if (at_rest ? is_at_rest(mesh_axis) : is_of_the_mapping(mesh_axis))
        out.back().axes.push_back({axis, {axis}});
  };
  add_list("trainer.fsdp_axis", fsdp_axis, false);
  const bool newer = config.mesh.tensor_parallel_axes.has_value();
  add_list(newer ? "trainer.mesh.tensor_parallel_axes" : "trainer.tensor_parallel_axes", tensor_axes(config),
           true);
  add_map("trainer.axis_resources", config.axis_resources, false);
  add_map("trainer.mesh.compute_mapping", config.mesh.compute_mapping, false);
  add_map("trainer.mesh.shared_mapping", config.mesh.shared_mapping, false);
  add_map("trainer.parameter_axis_resources", config.parameter_axis_resources, true);
  add_map("trainer.mesh.param_mapping", config.mesh.param_mapping, true);
  return out;
}

MeshPlan resolve_mesh(const MeshConfig& config, const std::optional<std::vector<std::string>>& fsdp_axis,
                      int workers, std::int64_t vocab_size) {
  MeshPlan plan{.shape = shape_of(config, workers)};
  if (fsdp_axis) plan.fsdp_axes = *fsdp_axis;
  const auto at_rest = [&](const std::string& axis, const std::string& mesh_axis) {
    if (mesh_axis == "data" && std::count(plan.fsdp_axes.begin(), plan.fsdp_axes.end(), axis) == 0)
      plan.fsdp_axes.push_back(axis);
    if (is_of_the_mapping(mesh_axis)) add_rule(plan.rules.parameters, axis, mesh_axis);
  };
  const auto computed = [&](const std::string& axis, const std::string& mesh_axis) {
    if (is_of_the_mapping(mesh_axis)) add_rule(plan.rules.compute, axis, mesh_axis);
  };
  for (const auto* map : {&config.axis_resources, &config.mesh.compute_mapping, &config.mesh.shared_mapping})
    for (const auto& [axis, mesh_axis] : *map) computed(axis, mesh_axis);
  for (const auto* map :
       {&config.parameter_axis_resources, &config.mesh.param_mapping, &config.mesh.shared_mapping})
    for (const auto& [axis, mesh_axis] : *map) at_rest(axis, mesh_axis);

  std::vector<std::string> tensor;
  if (const auto& named = tensor_axes(config)) {
    for (const auto& axis : *named) add_tensor_axis(tensor, axis);
  } else {
    tensor.assign(std::begin(kTensorAxes), std::end(kTensorAxes));
    if (vocab_size % config.tensor_lanes.value_or(plan.shape.model) == 0) tensor.emplace_back("vocab");
  }
  for (const auto& axis : tensor) {
    add_rule(plan.rules.compute, axis, "model");
    add_rule(plan.rules.parameters, axis, "model");
  }
  plan.rules.tensor_lanes = static_cast<int>(config.tensor_lanes.value_or(0));
  add_rule(plan.rules.compute, "position", "context");
  add_rule(plan.rules.compute, "expert", "expert");
  add_rule(plan.rules.parameters, "expert", "expert");
  // a parameter's positions (GPT-2's) are cut as they are used
  std::erase_if(plan.rules.parameters, [](const auto& rule) { return rule.mesh_axis == "context"; });
  return plan;
}

void require_experts(const MeshPlan& plan, std::span<const core::Parameter> parameters,
                     std::string_view type) {
  if (plan.shape.expert == 1) return;
  std::vector<std::string> axes;
  for (const auto& rule : plan.rules.parameters)
    if (rule.mesh_axis == "expert") axes.push_back(rule.axis);
  const auto has_one = [&](const core::Parameter& p) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const auto& axis) { return std::count(p.axes.begin(), p.axes.end(), axis) > 0; });
  };
  if (std::any_of(parameters.begin(), parameters.end(), has_one)) return;
  fail(ErrorKind::Config,
       "mesh: expert is {}, but no parameter of a model of type {} has an axis on it ({})\nhint: leave "
       "trainer.mesh.axes.expert at 1; data, model and context divide this model",
       plan.shape.expert, type, join(axes, ", "));
}

}  // namespace bora::train
