// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/mesh_look.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "bora/base/text.h"
#include "bora/core/lane_sums.h"
#include "bora/run/shape_model.h"

namespace bora::run {
namespace {

using AxisSet = std::set<std::string, std::less<>>;

// What operations have beside the axes of parameters.
constexpr std::string_view kInputAxes[] = {"batch", "position", "key_position"};
// Axes of some model of Bora's or Levanter's.
constexpr std::string_view kUsualAxes[] = {
    "batch",        "embed",   "expert",   "experts", "head_dim", "head_size", "heads",
    "key_position", "kv_head", "kv_heads", "layers",  "mlp",      "position",  "q_heads_per_group",
    "qkv",          "token",   "vocab"};

struct MissingAxis {
  std::string key, words;
  bool is_usual;
};

class AxesLook {
 public:
  AxesLook(const LmConfig& config, std::int64_t vocab)
      : type_(config.model.config->type()),
        parameters_(axes_of_parameters(config, vocab)),
        all_(parameters_) {
    all_.insert(std::begin(kInputAxes), std::end(kInputAxes));
  }

  bool knows_the_model() const { return !parameters_.empty(); }

  std::vector<MissingAxis> missing(const train::AxesOfKey& of) const {
    const auto& known = of.of_parameters ? parameters_ : all_;
    std::vector<MissingAxis> out;
    for (const auto& axis : of.axes) {
      const auto is_there = [&](const std::string& name) { return known.contains(name); };
      if (std::any_of(axis.cuts.begin(), axis.cuts.end(), is_there)) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      const auto usual = std::find(std::begin(kUsualAxes), std::end(kUsualAxes), axis.name);
      out.push_back(
          {of.key,
           fmt::format("{} is no axis of a model of type {}, so that nothing is cut along it{}; its axes: {}",
                       axis.name, type_, did_you_mean(axis.name, names), join(names)),
           usual != std::end(kUsualAxes)});
    }
    return out;
  }

 private:
  std::string type_;
  AxisSet parameters_, all_;
};

bool holds(std::span<const std::string_view> axes, std::string_view axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// "layers.0.attn." of "layers.0.attn.q_norm.weight": where the maps are whose results it takes.
std::string_view neighbourhood(std::string_view path) {
  const auto leaf = path.rfind('.');
  const auto module = leaf == path.npos ? leaf : path.rfind('.', leaf - 1);
  return module == path.npos ? std::string_view() : path.substr(0, module + 1);
}

// The axis on `model` of what a linear map makes, where the norm takes the map's other axes alone.
std::optional<std::string> axis_beside(const core::Parameter& norm, const core::Parameter& map,
                                       const std::vector<core::AxisRule>& rules) {
  if (map.inputs.empty() || neighbourhood(map.path) != neighbourhood(norm.path)) return std::nullopt;
  const auto is_made = [&](std::string_view axis) {
    return holds(map.axes, axis) && !holds(map.inputs, axis);
  };
  if (!std::all_of(norm.axes.begin(), norm.axes.end(), is_made)) return std::nullopt;
  for (const auto& [axis, mesh_axis] : rules)
    if (mesh_axis == "model" && is_made(axis))
      return holds(norm.axes, axis) ? std::nullopt : std::optional(axis);
  return std::nullopt;
}

}  // namespace

void look_at_tensor_lanes(const LmConfig& config, std::int64_t vocab, ProblemList& problems) {
  const auto& t = config.trainer;
  const auto lanes = static_cast<int>(t.mesh.tensor_lanes.value_or(1));
  if (lanes == 1 || axes_of_parameters(config, vocab).empty()) return;
  const auto plan = train::resolve_mesh(t.mesh, t.fsdp_axis, static_cast<int>(t.mesh.least_workers()), vocab);
  with_shape_model(config, vocab, [&](auto& model) {
    const auto all = model.parameters();
    for (const auto& norm : all) {
      if (norm.role != core::Role::norm || !norm.trainable) continue;
      for (const auto& map : all) {
        const auto axis = axis_beside(norm, map, plan.rules.compute);
        if (!axis) continue;
        const auto* op = norm.module.ends_with("LayerNorm") ? "layer_norm" : "rms_norm";
        return problems.add("trainer.tensor_lanes", core::sum_off_lanes(op, *axis, "model", lanes));
      }
    }
  });
}

void look_at_axes(const LmConfig& config, std::int64_t vocab, ProblemList& problems,
                  std::vector<std::string>& warnings) {
  const auto& t = config.trainer;
  auto keys = train::named_axes(t.mesh, t.fsdp_axis);
  // The default suits most models, and records of runs say it aloud.
  if (t.fsdp_axis == train::TrainerConfig().fsdp_axis)
    std::erase_if(keys, [](const auto& of) { return of.key == "trainer.fsdp_axis"; });
  if (std::all_of(keys.begin(), keys.end(), [](const auto& of) { return of.axes.empty(); })) return;
  const AxesLook look(config, vocab);
  if (!look.knows_the_model()) return;
  for (const auto& of : keys) {
    const auto missing = look.missing(of);
    const bool is_slip =
        missing.size() == of.axes.size() &&
        std::none_of(missing.begin(), missing.end(), [](const auto& m) { return m.is_usual; });
    for (const auto& [key, words, usual] : missing) {
      if (is_slip)
        problems.add(key, words);
      else
        warnings.push_back(fmt::format("{}: {}", key, words));
    }
  }
}

}  // namespace bora::run
