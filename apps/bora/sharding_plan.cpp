// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "sharding_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "bora/base/error.h"
#include "bora/core/parameter_store.h"
#include "memory_estimate.h"
#include "models.h"

namespace bora::app {
namespace {

// Takes every value away as soon as it could be there.
class NoValues final : public core::ParameterStore {
 public:
  bool shapes_only() const override { return true; }
  void created(core::Array& parameter, core::Names) override { core::drop_values(parameter); }
  void hold(std::span<const core::Array>) override {}
  void need(std::span<const core::Array>) override {}
};

// "layers.3.attn.q_proj.weight" is of layer 3.
std::string layer_of(const std::string& path) {
  const auto first = path.find('.');
  if (first == path.npos) return {};
  const auto second = path.find('.', first + 1);
  const auto number = path.substr(first + 1, second - first - 1);
  const bool digits = !number.empty() && number.find_first_not_of("0123456789") == number.npos;
  return digits ? path.substr(0, second) : std::string();
}

std::vector<PlannedParameter> planned_parameters(const ModelConfig& config, const PlanOptions& options) {
  NoValues nowhere;
  const core::ParameterStoreScope scope(nowhere);
  auto model = make_model(config, options.vocab, Key::from_seed(0));
  std::vector<PlannedParameter> out;
  for (const auto& p : model->parameters()) {
    PlannedParameter planned{.path = p.path, .names = p.names, .sizes = p.array->sizes()};
    planned.cut = mesh::AxisCut::along(options.axes, planned.names, planned.sizes, options.workers);
    planned.in_layers = !layer_of(p.path).empty();
    out.push_back(std::move(planned));
  }
  return out;
}

constexpr double kFloat = 4;

WorkerShare share_of(const ShardingPlan& plan, int worker) {
  WorkerShare out;
  double stays = 0;
  std::map<std::string, double> layers;
  for (const auto& p : plan.parameters) {
    const bool whole = p.cut.whole();
    const auto own = kFloat * static_cast<double>(whole ? p.elements() : p.cut.elements(worker));
    out.parameters += own;
    out.optimizer += 2 * own;
    if (!whole)
      (p.in_layers ? layers[layer_of(p.path)] : stays) += kFloat * static_cast<double>(p.elements());
  }
  double largest = 0;
  for (const auto& [name, bytes] : layers) largest = std::max(largest, bytes);
  out.gathered = stays + largest;
  return out;
}

}  // namespace

std::int64_t PlannedParameter::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

ShardingPlan plan_sharding(const ModelConfig& config, const PlanOptions& options) {
  if (options.workers > options.lanes) {
    fail(ErrorKind::Config,
         "{} workers, but the batch of {} sequences is cut into {} lanes (trainer.lanes)\nhint: at most {} "
         "workers, or more lanes: another number of lanes is another run",
         options.workers, options.batch, options.lanes, options.lanes);
  }
  ShardingPlan plan{.workers = options.workers, .parameters = planned_parameters(config, options)};
  const auto sizes = estimate_sizes(
      config,
      {.vocab = options.vocab, .batch = options.batch, .lanes = options.lanes, .compute = options.compute});
  const auto rounds = static_cast<double>((options.lanes + options.workers - 1) / options.workers);
  const bool any_cut = std::any_of(plan.parameters.begin(), plan.parameters.end(),
                                   [](const auto& p) { return !p.cut.whole(); });
  for (int w = 0; w < options.workers; ++w) {
    auto share = share_of(plan, w);
    // Sums of the lanes so far: subtrees of the tree, at most one of each size.
    const double subtrees =
        any_cut || options.workers == 1 ? rounds : static_cast<double>(options.lanes) / options.workers;
    double sums = 1;
    for (double n = subtrees; n > 1; n /= 2) ++sums;
    share.gradients = share.parameters * sums;
    share.activations = sizes.activation_bytes;
    plan.shares.push_back(share);
  }
  const double others = static_cast<double>(options.workers - 1) / options.workers;
  for (const auto& p : plan.parameters) {
    const double bytes = kFloat * static_cast<double>(p.elements());
    if (!p.cut.whole()) plan.gathered_bytes += others * bytes * (p.in_layers ? 2 * rounds : 1);
    if (any_cut)
      plan.gradient_bytes += bytes * rounds * (p.cut.whole() ? options.workers - 1 : others);
    else
      plan.gradient_bytes += 2 * others * bytes;
  }
  return plan;
}

}  // namespace bora::app
