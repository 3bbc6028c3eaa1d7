// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/adapters.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bora/base/error.h"
#include "bora/base/path_pattern.h"
#include "bora/base/text.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/mapping.h"
#include "bora/run/module_names.h"
#include "bora/run/peft.h"

namespace bora::run {
namespace {

bool is_called(const NamedMap& map, const std::string& name) {
  return ends_name(name, map.path) || ends_name(name, map.hf) || path_matches(name, map.path) ||
         path_matches(name, map.hf);
}

std::string nearest(const std::string& name, const std::vector<NamedMap>& maps) {
  std::vector<std::string> known;
  const auto add = [&](std::string word) {
    if (std::find(known.begin(), known.end(), word) == known.end()) known.push_back(std::move(word));
  };
  for (const auto& map : maps) {
    for (const auto* text : {&map.path, &map.hf}) {
      add(text->substr(text->rfind('.') + 1));
      add(*text);
    }
  }
  auto near = did_you_mean(name, known);
  if (!near.empty() || maps.empty()) return near;
  return fmt::format("; the first one is {}", maps.front().path);
}

// For each map whether one of the names is its own; a problem for each name that is nobody's.
std::vector<bool> select(const std::vector<std::string>& names, const std::vector<NamedMap>& maps,
                         std::string_view key, std::vector<std::string>& problems) {
  std::vector<bool> out(maps.size());
  for (const auto& name : names) {
    bool any = false;
    for (std::size_t i = 0; i < maps.size(); ++i)
      if (is_called(maps[i], name)) any = out[i] = true;
    if (!any) problems.push_back(fmt::format("{}: {} is no linear map{}", key, name, nearest(name, maps)));
  }
  return out;
}

std::vector<bool> targets_of(const ModuleChoice& choice, const std::vector<NamedMap>& maps,
                             std::vector<std::string>& problems) {
  if (!choice.regex && !choice.names.empty()) return select(choice.names, maps, "target_modules", problems);
  std::vector<bool> out(maps.size());
  for (std::size_t i = 0; i < maps.size(); ++i) out[i] = !choice.regex && !maps[i].head;
  if (!choice.regex) return out;
  const NameRegex regex(*choice.regex, "lora.target_modules");
  for (std::size_t i = 0; i < maps.size(); ++i)
    out[i] = regex.matches(maps[i].path) || regex.matches(maps[i].hf);
  if (std::count(out.begin(), out.end(), true) == 0) {
    problems.push_back(fmt::format("target_modules: {} matches none of {} linear maps{}", *choice.regex,
                                   maps.size(), maps.empty() ? "" : "; the first one is " + maps.front().hf));
  }
  return out;
}

void freeze(const std::vector<core::Parameter>& parameters, const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const auto& p : parameters) paths.push_back(p.path);
  const auto chosen = select_paths(patterns, paths, "parameter");
  if (!chosen.problems.empty())
    fail(ErrorKind::Config, "trainer.freeze: {}", join(chosen.problems, "\ntrainer.freeze: "));
  std::size_t left = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (chosen.selected[i]) core::set_trainable(*parameters[i].array, false);
    if (core::trainable(*parameters[i].array)) ++left;
  }
  if (paths.empty() || left > 0) return;
  const bool all = std::count(chosen.selected.begin(), chosen.selected.end(), false) == 0;
  fail(ErrorKind::Config, "trainer.freeze: {} selects all {} parameters{}; there is nothing to train",
       join(patterns), paths.size(), all ? "" : " that lora leaves");
}

}  // namespace

std::vector<nn::NewAdapter> chosen_adapters(const LoraConfig& lora, nn::LanguageModel& model) {
  if (const auto shape = model.shape(); shape.hears())
    fail(
        ErrorKind::Config,
        "lora: a model of speech ({}) takes no adapters\nhint: leave lora out; trainer.freeze trains a part of it",
        shape.type);
  const auto maps = named_maps(model);
  std::vector<std::string> problems;
  auto chosen = targets_of(lora.target_modules, maps, problems);
  auto excluded = lora.exclude_modules;
  const bool without_head = std::erase(excluded, "lm_head") > 0;  // a tied one is no linear map
  const auto left_alone = select(excluded, maps, "exclude_modules", problems);
  std::vector<nn::NewAdapter> out;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    if (!chosen[i] || left_alone[i] || (maps[i].head && without_head)) continue;
    if (maps[i].head) {
      problems.push_back(
          fmt::format("target_modules: {} is the head, of which the loss uses the weight alone: "
                      "an adapter would do nothing; exclude_modules leaves it alone",
                      maps[i].path));
    }
    out.push_back({maps[i].path, lora.shape});
  }
  if (problems.empty() && out.empty()) problems.emplace_back("target_modules: no linear map is left");
  if (!problems.empty()) fail(ErrorKind::Config, "lora.{}", join(problems, "\nlora."));
  return out;
}

void choose_trained(nn::LanguageModel& model, const LmConfig& config) {
  if (config.lora) {
    const auto key = Key::from_seed(static_cast<std::uint64_t>(config.trainer.seed)).fold("lora");
    model.attach_adapters(chosen_adapters(*config.lora, model), key);
    if (const auto problem = problem_for_peft(model); config.peft_save_path && !problem.empty())
      fail(ErrorKind::Config, "peft_save_path: {}\nhint: hf_save_path writes the merged model", problem);
  }
  freeze(model.parameters(), config.trainer.freeze);
}

ParameterCounts count_parameters(const std::vector<core::Parameter>& parameters) {
  ParameterCounts out;
  for (const auto& p : parameters) {
    const auto sizes = core::whole_sizes(*p.array);
    const auto n = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    out.all += n;
    if (p.trainable) out.trained += n;
  }
  return out;
}

Json record_of_adapters(nn::LanguageModel& model) {
  Json out;
  for (const auto& map : model.linear_maps()) {
    if (!map.adapter) continue;
    out[map.path] = {{"r", map.adapter->rank},
                     {"alpha", map.adapter->alpha},
                     {"rank_stabilized", map.adapter->rank_stabilized},
                     {"dropout", map.adapter->dropout}};
  }
  return out;
}

std::string describe_adapters(const Json& record) {
  if (!record.is_object() || record.empty()) return "none";
  const auto n = record.size();
  auto out = fmt::format("of {} linear map{}", n, n == 1 ? "" : "s");
  const auto& first = record.front();
  if (std::any_of(record.begin(), record.end(), [&](const Json& shape) { return shape != first; }))
    return out + ", of several shapes";
  return fmt::format(
      "{}, rank {}, alpha {}{}, dropout {}", out, first.value("r", 0), first.value("alpha", 0.0),
      first.value("rank_stabilized", false) ? " (rank-stabilized)" : "", first.value("dropout", 0.0));
}

bool same_adapters(const Json& a, const Json& b) {
  const auto without_dropout = [](Json record) {
    for (auto& shape : record)
      if (shape.is_object()) shape.erase("dropout");
    return record;
  };
  return without_dropout(a) == without_dropout(b);
}

void attach_recorded(nn::LanguageModel& model, const Json& record, const std::string& where) {
  if (!record.is_object()) fail(ErrorKind::Corruption, "{}: lora should be a map of linear maps", where);
  std::vector<nn::NewAdapter> adapters;
  std::map<std::string, std::int64_t> known;
  for (const auto& map : model.linear_maps()) known[map.path];
  for (const auto& [path, shape] : record.items()) {
    const auto name = fmt::format("{}: lora.{}", where, path);
    if (!known.contains(path)) fail(ErrorKind::Corruption, "{} is no linear map of the model", name);
    nn::LoraShape s{json_get<std::int64_t>(shape, "r", name), json_get<double>(shape, "alpha", name),
                    json_get<bool>(shape, "rank_stabilized", name), json_get<double>(shape, "dropout", name)};
    if (s.rank < 1 || s.rank > 65536) fail(ErrorKind::Corruption, "{}: r is {}", name, s.rank);
    if (!(s.dropout >= 0 && s.dropout < 1)) fail(ErrorKind::Corruption, "{}: dropout is {}", name, s.dropout);
    adapters.push_back({path, s});
  }
  model.attach_adapters(adapters, Key{});
}

std::function<core::Array(const checkpoint::HfParameter&)> merged_values(nn::LanguageModel& model,
                                                                         WholeValues whole) {
  if (!whole) whole = [](const core::Parameter& p) { return *p.array; };
  std::map<std::string, core::Parameter> by_path;
  for (const auto& p : model.parameters()) by_path[p.path] = p;
  std::map<std::string, double> scales;  // by the path of the weight
  for (const auto& map : model.linear_maps())
    if (map.adapter) scales[map.path + ".weight"] = map.adapter->scale();
  return [by_path, scales, whole](const checkpoint::HfParameter& p) {
    const auto& path = p.parameter.path;
    const auto scale = scales.find(path);
    auto weight = whole(p.parameter);
    if (scale == scales.end()) return weight;
    const auto module = path.substr(0, path.rfind('.'));
    const auto& a = by_path.at(module + ".lora.a.weight");
    const auto& b = by_path.at(module + ".lora.b.weight");
    const auto b_values = whole(b), a_values = whole(a);
    const auto& axes = p.parameter.axes;
    const auto low = core::dot({b_values, b.axes}, {a_values, a.axes}, axes);
    const auto scaled = core::binary(core::Binary::multiply, {low, axes}, scale->second);
    return core::binary(core::Binary::add, {weight, axes}, {scaled, axes}, axes);
  };
}

}  // namespace bora::run
