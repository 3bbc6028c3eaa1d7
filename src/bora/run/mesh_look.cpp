// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/mesh_look.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "bora/base/text.h"
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

}  // namespace

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
