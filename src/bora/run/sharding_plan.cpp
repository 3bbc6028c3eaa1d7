// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/sharding_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/mesh/lane_order.h"
#include "bora/run/memory_estimate.h"
#include "bora/run/shape_model.h"

namespace bora::run {
namespace {

// "layers.3.attn.q_proj.weight" is of layer 3.
std::string layer_of(const std::string& path) {
  const auto first = path.find('.');
  if (first == path.npos) return {};
  const auto second = path.find('.', first + 1);
  const auto number = path.substr(first + 1, second - first - 1);
  const bool digits = !number.empty() && number.find_first_not_of("0123456789") == number.npos;
  return digits ? path.substr(0, second) : std::string();
}

// Takes the first axis of the parameter that a rule puts on the mesh axis.
void cut_over(std::string_view mesh_axis, int n, PlannedParameter& p,
              const std::vector<core::AxisRule>& rules, std::vector<std::string>& problems) {
  for (const auto& rule : rules) {
    const auto at = std::find(p.names.begin(), p.names.end(), rule.axis);
    if (n == 1 || rule.mesh_axis != mesh_axis || at == p.names.end()) continue;
    p.mesh_cuts.push_back({std::string(mesh_axis), static_cast<std::size_t>(at - p.names.begin()), n});
    const auto size = p.sizes[p.mesh_cuts.back().dim];
    if (size % n == 0) return;
    problems.push_back(
        fmt::format("{}: axis {} of size {} cannot be cut into {} equal shards for the mesh axis {}", p.path,
                    rule.axis, size, n, mesh_axis));
    return;
  }
}

std::vector<PlannedParameter> planned_parameters(nn::LanguageModel& model, const PlanOptions& options) {
  std::vector<PlannedParameter> out;
  std::vector<std::string> problems;
  const auto& shape = options.mesh.shape;
  const auto& rules = options.mesh.rules.parameters;
  train::require_experts(options.mesh, model.parameters(), model.shape().type);
  for (const auto& p : model.parameters()) {
    PlannedParameter planned{
        .path = p.path, .names = p.axes, .sizes = p.array->sizes(), .trainable = p.trainable};
    cut_over("expert", shape.expert, planned, rules, problems);
    cut_over("model", shape.model, planned, rules, problems);
    auto block = planned.sizes;
    for (const auto& cut : planned.mesh_cuts) block[cut.dim] /= cut.blocks;
    const int team = shape.data * shape.expert / planned.experts();
    planned.cut = mesh::AxisCut::along(options.mesh.fsdp_axes, planned.names, block, team);
    planned.in_layers = !layer_of(p.path).empty();
    out.push_back(std::move(planned));
  }
  if (!problems.empty()) {
    fail(ErrorKind::Config,
         "{}\nhint: another trainer.model_axis_size, or trainer.tensor_parallel_axes without it",
         join(problems, "\n"));
  }
  return out;
}

constexpr double kFloat = 4;

// What lies shard for shard as a parameter does, and what all workers have.
void add_state(const optim::Optimizer& optimizer, ShardingPlan& plan) {
  for (const auto& state : optimizer.state()) {
    const auto bytes = bytes_of(state);
    if (const auto of = state.layout.parameter())
      plan.parameters[*of].state_bytes += bytes / static_cast<double>(plan.parameters[*of].elements());
    else
      plan.replicated_state += bytes;
  }
}

WorkerShare share_of(const ShardingPlan& plan, int group) {
  WorkerShare out{.optimizer = plan.replicated_state};
  double stays = 0;
  std::map<std::string, double> layers;
  for (const auto& p : plan.parameters) {
    const bool whole = p.cut.replicated();
    const auto own = kFloat * static_cast<double>(p.elements_of(group));
    out.parameters += own;
    if (p.trainable) out.gradients += own;
    out.optimizer += p.state_bytes * static_cast<double>(p.elements_of(group));
    if (!whole)
      (p.in_layers ? layers[layer_of(p.path)] : stays) += kFloat * static_cast<double>(p.cut.elements());
  }
  double largest = 0;
  for (const auto& [name, bytes] : layers) largest = std::max(largest, bytes);
  out.gathered = stays + largest;
  return out;
}

// In another dtype than fp32 a device has copies: of whole parameters from step to step, of gathered ones as long as a
// block's backward pass may want them.
void add_copies(WorkerShare& share, const nn::RematPolicy& policy, const SizeEstimate& sizes, double element,
                bool any_cut) {
  if (element >= kFloat) return;
  if (!any_cut)
    share.parameters += share.parameters * element / kFloat;
  else if (policy.kind == nn::RematPolicy::Kind::none)
    share.gathered += static_cast<double>(sizes.parameters.all) * element;
  else
    share.gathered += share.gathered * element / kFloat;
}

// What workers of one lane tell each other. Over model, each layer sums its output twice forward and twice
// back, the embedding and the head once. Over context, keys and values go round forward and backward; the
// last worker's queries see those of all others, which is the most that one receives (others get fewer, and
// gradients of their own in place of them). At the end the gradients of all parameters are summed.
void count_activations(ShardingPlan& plan, const models::ModelConfig& config, const PlanOptions& options,
                       double rounds) {
  const auto& mesh = plan.mesh;
  const auto shape = config.shape(options.vocab);
  const std::int64_t sequences = options.batch / options.lanes;
  const double tokens = static_cast<double>(sequences) * static_cast<double>(options.seq_len);
  const double layers = static_cast<double>(shape.layers);
  const double hidden = kFloat * tokens / mesh.context * static_cast<double>(shape.hidden);
  const double keys = kFloat * tokens * static_cast<double>(shape.kv_heads * shape.head_dim) / mesh.model;
  const double model = static_cast<double>(mesh.model - 1) / mesh.model;
  const double context = static_cast<double>(mesh.context - 1) / mesh.context;
  double gradients = 0;
  for (const auto& p : plan.parameters)
    if (p.trainable) gradients += kFloat * static_cast<double>(p.elements_of(0));
  const double expert = static_cast<double>(mesh.expert - 1) / mesh.expert;
  // there and back, forward and backward
  plan.expert_bytes = rounds * hidden * static_cast<double>(shape.expert_visits) * 4 * expert;
  plan.model_bytes = rounds * hidden * (4 * layers + 2) * 2 * model;
  plan.context_bytes = rounds * keys * 2 * layers * 2 * context + 2 * context * gradients;
}

}  // namespace

std::int64_t PlannedParameter::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

int PlannedParameter::mesh_blocks() const {
  int n = 1;
  for (const auto& c : mesh_cuts) n *= c.blocks;
  return n;
}

int PlannedParameter::experts() const {
  return !mesh_cuts.empty() && mesh_cuts.front().mesh_axis == "expert" ? mesh_cuts.front().blocks : 1;
}

std::int64_t PlannedParameter::elements_of(int lane_group) const {
  return cut.replicated() ? elements() / mesh_blocks() : cut.elements(lane_group / experts() % cut.workers());
}

ShardingPlan plan_sharding(const LmConfig& run, const PlanOptions& options) {
  const auto& config = *run.model.config;
  const auto& shape = options.mesh.shape;
  const int groups = shape.lane_groups();
  if (groups > options.lanes) {
    fail(ErrorKind::InvalidArgument, "sharding plan: {} groups of workers but {} lanes", groups,
         options.lanes);
  }
  ShardingPlan plan{.workers = shape.workers(), .lanes = options.lanes, .mesh = shape};
  with_shape_model(run, options.vocab, [&](auto& model) {
    plan.parameters = planned_parameters(model, options);
    add_state(*shape_optimizer(run, model), plan);
  });
  const std::int64_t most_lanes = (options.lanes + groups - 1) / groups;
  const auto rounds = static_cast<double>(most_lanes);
  const bool any_cut = shape.expert > 1 || std::any_of(plan.parameters.begin(), plan.parameters.end(),
                                                       [](const auto& p) { return !p.cut.replicated(); });
  const auto sizes = estimate_sizes(config, {.vocab = options.vocab,
                                             .batch = options.batch,
                                             .lanes = options.lanes,
                                             .compute = options.compute,
                                             .on_device = options.on_device,
                                             .graphs = !any_cut});
  for (int w = 0; w < groups; ++w) {
    auto share = share_of(plan, w);
    // Sums of the lanes so far: subtrees of the tree, at most one of each size.
    const double subtrees = any_cut || groups == 1 ? rounds : static_cast<double>(options.lanes) / groups;
    double sums = 1;
    for (double n = subtrees; n > 1; n /= 2) ++sums;
    if (options.on_device) {
      add_copies(share, config.remat(), sizes, static_cast<double>(core::bytes(options.compute)), any_cut);
      // A lane adds to its sibling's sum. What others have of a worker's part comes while graphs keep their activations.
      if (!any_cut) sums = std::max(1.0, sums - 1) + static_cast<double>(groups - 1) / groups;
    }
    share.gradients *= sums;
    // At most: what model divides of it is not counted.
    share.activations = sizes.activation_bytes / shape.context;
    share.pinned = sizes.pinned_bytes / shape.context;
    plan.shares.push_back(share);
  }
  const double others = static_cast<double>(groups - 1) / groups;
  for (const auto& p : plan.parameters) {
    const int team =
        shape.data * shape.expert / p.experts();  // workers of a replica that may have shards of it
    const std::int64_t elements = p.elements() / p.mesh_blocks();
    const double bytes = kFloat * static_cast<double>(elements);
    if (!p.cut.replicated())
      plan.gathered_bytes += bytes * (team - 1) / team * (p.in_layers ? 2 * rounds : 1);
    if (!p.trainable) continue;
    double from_replicas = 0;  // sums of lanes, of each block
    for (int r = 1; r < shape.replica; ++r)
      from_replicas += static_cast<double>(mesh::subtrees({std::int64_t{r} * team, team}).size());
    if (any_cut)
      plan.gradient_bytes += bytes * rounds * (team - 1 + from_replicas) / (p.cut.replicated() ? 1 : team);
    else
      plan.gradient_bytes += 2 * others * bytes;
  }
  count_activations(plan, config, options, rounds);
  return plan;
}

}  // namespace bora::run
