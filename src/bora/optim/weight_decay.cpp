// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/weight_decay.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::optim {
namespace {

std::string_view last_part(std::string_view dotted) {
  const auto dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

// Kind of a parameter's own module and its name in it: "Linear.weight".
std::string class_path(const core::Parameter& p) {
  return fmt::format("{}.{}", last_part(p.module), last_part(p.path));
}

bool decays_by_default(const core::Parameter& p) {
  return p.role != core::Role::norm && p.role != core::Role::embedding && p.role != core::Role::bias;
}

class Selection {
 public:
  explicit Selection(const OptimizerConfig& config) {
    if (const auto* pattern = std::get_if<std::string>(&config.weight_decay_modules)) {
      if (const auto wrong = regex_problem(*pattern)) {
        fail(ErrorKind::Config, "optimizer.weight_decay_modules: {}", *wrong);
      }
      expression_.emplace(*pattern);
    }
    if (const auto* parts = std::get_if<std::vector<std::string>>(&config.weight_decay_modules))
      parts_ = *parts;
  }

  bool selects(const core::Parameter& p) const {
    const std::string kind = class_path(p);
    return matches(p.path) || matches(kind) || contains(p.path) ||
           contains(fmt::format("{}.{}", p.module, last_part(p.path)));
  }

 private:
  bool matches(const std::string& text) const {
    return expression_ && std::regex_search(text, *expression_, std::regex_constants::match_continuous);
  }
  bool contains(const std::string& text) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const std::string& part) { return text.find(part) != text.npos; });
  }

  std::optional<std::regex> expression_;
  std::vector<std::string> parts_;
};

}  // namespace

std::vector<bool> weight_decay_mask(const OptimizerConfig& config,
                                    std::span<const core::Parameter> parameters) {
  const bool selected = config.weight_decay_modules.index() != 0;
  std::vector<bool> mask;
  if (!selected && config.default_weight_decay_mask == false) {
    mask.assign(parameters.size(), true);
    return mask;
  }
  const bool by_default = config.default_weight_decay_mask.value_or(!selected);
  const Selection selection(config);
  for (const core::Parameter& p : parameters) {
    mask.push_back((selected && selection.selects(p)) || (by_default && decays_by_default(p)));
  }
  return mask;
}

std::vector<std::string> decayed_weights(const OptimizerConfig& config,
                                         std::span<const core::Parameter> parameters) {
  const auto mask = weight_decay_mask(config, parameters);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (mask[i]) out.push_back(parameters[i].path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace bora::optim
