// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/weight_decay.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

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

// "a|b(c|d)" is a and b(c|d).
std::vector<std::string> alternatives(const std::string& expression) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '|' && depth == 0 && !in_class) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
    if (c == '\\' && i + 1 < expression.size())
      out.back() += expression[++i];
    else if (in_class)
      in_class = c != ']';
    else
      in_class = c == '[';
    if (!in_class) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  return out;
}

// "attn.q_proj.weight" of "layers.0.attn.q_proj.weight".
std::string within_layer(const std::string& path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    if (parse_int(path.substr(begin, end - begin)) && end < path.size()) return path.substr(end + 1);
    begin = end + 1;
  }
  return path;
}

// "attn" of that.
std::string part_of_layer(const std::string& path) {
  const auto within = within_layer(path);
  return within.substr(0, within.find('.'));
}

class Selection {
 public:
  explicit Selection(const OptimizerConfig& config) {
    if (const auto* pattern = std::get_if<std::string>(&config.weight_decay_modules)) {
      if (const auto wrong = regex_problem(*pattern)) {
        fail(ErrorKind::Config, "optimizer.weight_decay_modules: {}", *wrong);
      }
      expression_.emplace(*pattern);
      for (const auto& words : alternatives(*pattern))
        if (!regex_problem(words))
          alternatives_.emplace_back(words, words);  // else it refers to another one's groups
    }
    if (const auto* parts = std::get_if<std::vector<std::string>>(&config.weight_decay_modules))
      parts_ = *parts;
  }

  bool selects(const core::Parameter& p) const {
    return (expression_ && matches(p, *expression_)) ||
           std::any_of(parts_.begin(), parts_.end(),
                       [&](const std::string& part) { return contains(p, part); });
  }
  /// Config where a part, or an alternative of the expression, selects none of them: nothing would decay, or less than
  /// is meant.
  void require_effect(std::span<const core::Parameter> parameters) const {
    const auto require = [&](const std::string& words, auto selects) {
      if (parameters.empty() || std::any_of(parameters.begin(), parameters.end(), selects)) return;
      fail(ErrorKind::Config,
           "optimizer.weight_decay_modules: {} selects none of {} parameters\nhint: one is {}, {} of kind",
           words, parameters.size(), parameters.front().path, class_path(parameters.front()));
    };
    for (const auto& part : parts_) require(part, [&](const auto& p) { return contains(p, part); });
    for (const auto& [words, expression] : alternatives_)
      require(words, [&, &is = expression](const auto& p) { return matches(p, is); });
  }

 private:
  static bool matches(const core::Parameter& p, const std::regex& expression) {
    const auto begins = [&](const std::string& text) {
      return std::regex_search(text, expression, std::regex_constants::match_continuous);
    };
    return begins(p.path) || begins(class_path(p));
  }
  static bool contains(const core::Parameter& p, const std::string& part) {
    return p.path.find(part) != std::string::npos ||
           fmt::format("{}.{}", p.module, last_part(p.path)).find(part) != std::string::npos;
  }

  std::optional<std::regex> expression_;
  std::vector<std::pair<std::string, std::regex>> alternatives_;  // of the expression, with their words
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

std::string describe_decay(const OptimizerConfig& config, std::span<const core::Parameter> parameters) {
  if (config.weight_decay_modules.index() == 0) return "";
  const auto mask = weight_decay_mask(config, parameters);
  std::set<std::string> not_whole, told;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!mask[i]) not_whole.insert({part_of_layer(parameters[i].path), within_layer(parameters[i].path)});
  std::vector<std::string> names;  // in the model's order
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!mask[i]) continue;
    const auto& path = parameters[i].path;
    auto name = part_of_layer(path);
    if (not_whole.contains(name)) name = within_layer(path);
    if (not_whole.contains(name)) name = path;
    if (told.insert(name).second) names.push_back(name);
  }
  constexpr std::size_t kMostNames = 8;
  const auto more = std::max(names.size(), kMostNames) - kMostNames;
  names.resize(names.size() - more);
  return fmt::format("{}{}: {} of {} arrays", join(names), more > 0 ? fmt::format(" and {} more", more) : "",
                     std::count(mask.begin(), mask.end(), true), parameters.size());
}

}  // namespace bora::optim
