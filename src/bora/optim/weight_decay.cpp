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
      words_ = *pattern;
    }
    if (const auto* parts = std::get_if<std::vector<std::string>>(&config.weight_decay_modules))
      parts_ = *parts;
  }

  bool selects(const core::Parameter& p) const {
    return matches(p) || std::any_of(parts_.begin(), parts_.end(),
                                     [&](const std::string& part) { return contains(p, part); });
  }
  /// Config where a part, or the expression, selects none of them: nothing would decay, or less than is meant.
  void require_effect(std::span<const core::Parameter> parameters) const {
    const auto require = [&](const std::string& words, auto selects) {
      if (parameters.empty() || std::any_of(parameters.begin(), parameters.end(), selects)) return;
      fail(ErrorKind::Config,
           "optimizer.weight_decay_modules: {} selects none of {} parameters\nhint: one is {}, {} of kind",
           words, parameters.size(), parameters.front().path, class_path(parameters.front()));
    };
    for (const auto& part : parts_) require(part, [&](const auto& p) { return contains(p, part); });
    if (expression_) require(words_, [&](const auto& p) { return matches(p); });
  }

 private:
  bool matches(const core::Parameter& p) const {
    const auto begins = [&](const std::string& text) {
      return std::regex_search(text, *expression_, std::regex_constants::match_continuous);
    };
    return expression_ && (begins(p.path) || begins(class_path(p)));
  }
  static bool contains(const core::Parameter& p, const std::string& part) {
    return p.path.find(part) != std::string::npos ||
           fmt::format("{}.{}", p.module, last_part(p.path)).find(part) != std::string::npos;
  }

  std::optional<std::regex> expression_;
  std::string words_;  // of the expression
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
  selection.require_effect(parameters);
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
