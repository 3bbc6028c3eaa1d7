// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/peft_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::run {
namespace {

// What reading takes from the file, and what says nothing of the result: where the adapter came from, and how
// it was begun.
constexpr std::array<std::string_view, 21> kRead = {"alpha_pattern",
                                                    "auto_mapping",
                                                    "base_model_name_or_path",
                                                    "bias",
                                                    "ensure_weight_tying",
                                                    "eva_config",
                                                    "exclude_modules",
                                                    "fan_in_fan_out",
                                                    "inference_mode",
                                                    "init_lora_weights",
                                                    "lora_alpha",
                                                    "lora_dropout",
                                                    "megatron_core",
                                                    "peft_type",
                                                    "peft_version",
                                                    "qalora_group_size",
                                                    "r",
                                                    "rank_pattern",
                                                    "revision",
                                                    "target_modules",
                                                    "task_type"};
constexpr std::string_view kRankStabilized = "use_rslora";

bool is_set(const Json& value) {
  return !value.is_null() && value != Json(false) &&
         !((value.is_array() || value.is_object()) && value.empty());
}

bool only_begins_the_adapter(const Json& init) {
  return init.is_boolean() || init == "gaussian" || init == "eva" || init == "orthogonal";
}

// What makes it another thing than W + scale · B·A.
std::vector<std::string> what_is_unsupported(const Json& config) {
  std::vector<std::string> out;
  for (const auto& [key, value] : config.items()) {
    const auto shown = value.dump().substr(0, 80);
    if (key == "peft_type" && value != "LORA")
      out.push_back(fmt::format("peft_type is {}; LORA is read", shown));
    else if (key == "bias" && is_set(value) && value != "none")
      out.push_back(fmt::format("bias is {}: trained biases are not read", shown));
    else if (key == "init_lora_weights" && is_set(value) && !only_begins_the_adapter(value))
      out.push_back(fmt::format("init_lora_weights is {}, which changes the model's own weights", shown));
    else if (key != kRankStabilized && std::find(kRead.begin(), kRead.end(), key) == kRead.end() &&
             is_set(value))
      out.push_back(fmt::format("{} is {}, which is not read", key, shown));
  }
  return out;
}

void require_plain(const Json& config, const std::string& path) {
  if (!config.is_object()) fail(ErrorKind::Corruption, "{}: should be a map", path);
  if (!config.contains("peft_type")) fail(ErrorKind::Corruption, "{}: peft_type is missing", path);
  const auto problems = what_is_unsupported(config);
  if (problems.empty()) return;
  fail(ErrorKind::Unsupported,
       "{}: {}\nhint: Bora reads low-rank adapters of linear maps (LORA), and no more", path,
       join(problems, fmt::format("\n{}: ", path)));
}

// target_modules or exclude_modules.
class ModuleNames {
 public:
  ModuleNames(const Json& config, std::string_view key, const std::string& path) {
    const auto where = fmt::format("{}: {}", path, key);
    const auto value = config.contains(key) ? config[std::string(key)] : Json();
    if (value.is_null()) return;
    if (value.is_string() && value == "all-linear") {
      all_ = true;
    } else if (value.is_string()) {
      regex_.emplace(value.get<std::string>(), where);
    } else if (value.is_array()) {
      for (const auto& name : value) {
        if (!name.is_string()) fail(ErrorKind::Corruption, "{} holds {}, not a name", where, name.dump());
        ends_.push_back(name.get<std::string>());
      }
    } else {
      fail(ErrorKind::Corruption, "{} is {}, neither names nor a text", where, value.dump());
    }
  }
  bool has(const NamedMap& map) const {
    if (all_) return !map.head;
    if (regex_) return regex_->matches(map.hf);
    return std::any_of(ends_.begin(), ends_.end(),
                       [&](const std::string& end) { return ends_name(end, map.hf); });
  }

 private:
  bool all_ = false;
  std::optional<NameRegex> regex_;
  std::vector<std::string> ends_;
};

// rank_pattern or alpha_pattern: the first key that is the name, or what stands behind a dot in it.
class Numbers {
 public:
  Numbers(const Json& config, std::string_view key, const std::string& path) {
    const auto where = fmt::format("{}: {}", path, key);
    const auto value = config.contains(key) ? config[std::string(key)] : Json();
    if (!is_set(value)) return;
    if (!value.is_object()) fail(ErrorKind::Corruption, "{} is no map", where);
    for (const auto& [name, number] : value.items())
      numbers_.emplace_back(NameRegex("(?:.*\\.)?(?:" + name + ")", where),
                            json_get<double>(value, name, where));
  }
  double of(const NamedMap& map, double otherwise) const {
    for (const auto& [name, number] : numbers_)
      if (name.matches(map.hf)) return number;
    return otherwise;
  }

 private:
  std::vector<std::pair<NameRegex, double>> numbers_;
};

void require_shape(const nn::LoraShape& shape, double rank, const NamedMap& map, const std::string& path) {
  if (!(rank >= 1 && rank <= 65536 && rank == std::floor(rank)))
    fail(ErrorKind::Corruption, "{}: r of {} is {}, not a whole number from 1 to 65536", path, map.hf, rank);
  if (!std::isfinite(shape.alpha))
    fail(ErrorKind::Corruption, "{}: lora_alpha of {} is {}", path, map.hf, shape.alpha);
  if (!(shape.dropout >= 0 && shape.dropout < 1))
    fail(ErrorKind::Corruption, "{}: lora_dropout is {}, not from 0 to below 1", path, shape.dropout);
}

std::string last_name(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The last parts of their names where these say which maps have adapters, else the names.
std::vector<std::string> names_of_adapted(const std::vector<NamedMap>& maps) {
  std::set<std::string> last, whole;
  for (const auto& map : maps) {
    if (!map.adapter) continue;
    last.insert(last_name(map.hf));
    whole.insert(map.hf);
  }
  const bool others = std::any_of(maps.begin(), maps.end(), [&](const NamedMap& map) {
    return !map.adapter && last.contains(last_name(map.hf));
  });
  const auto& chosen = others ? whole : last;
  return {chosen.begin(), chosen.end()};
}

// A whole number as such: PEFT's own are.
Json plain_number(double x) {
  if (x == std::floor(x) && std::abs(x) < 0x1p53) return static_cast<std::int64_t>(x);
  return x;
}

Json pattern_of(const std::vector<NamedMap>& maps, const nn::LoraShape& common,
                double (*number)(const nn::LoraShape&)) {
  std::map<std::string, std::set<double>> by_last;
  for (const auto& map : maps)
    if (map.adapter) by_last[last_name(map.hf)].insert(number(*map.adapter));
  auto out = Json::object();
  for (const auto& map : maps) {
    if (!map.adapter) continue;
    const auto value = number(*map.adapter);
    if (value == number(common)) continue;
    const auto last = last_name(map.hf);
    out[by_last[last].size() == 1 ? last : map.hf] = plain_number(value);
  }
  return out;
}

double rank_of(const nn::LoraShape& shape) { return static_cast<double>(shape.rank); }
double alpha_of(const nn::LoraShape& shape) { return shape.alpha; }

}  // namespace

std::vector<nn::NewAdapter> adapters_of_peft(const Json& config, const std::vector<NamedMap>& maps,
                                             const std::string& path) {
  require_plain(config, path);
  const ModuleNames targets(config, "target_modules", path), excluded(config, "exclude_modules", path);
  const Numbers ranks(config, "rank_pattern", path), alphas(config, "alpha_pattern", path);
  const auto rank = static_cast<double>(json_get<std::int64_t>(config, "r", path, 8));
  const auto alpha = json_get<double>(config, "lora_alpha", path, 8);
  const nn::LoraShape common{.rank_stabilized = json_get<bool>(config, kRankStabilized, path, false),
                             .dropout = json_get<double>(config, "lora_dropout", path, 0)};
  std::vector<nn::NewAdapter> out;
  for (const auto& map : maps) {
    if (!targets.has(map) || excluded.has(map)) continue;
    auto shape = common;
    shape.alpha = alphas.of(map, alpha);
    const auto own = ranks.of(map, rank);
    require_shape(shape, own, map, path);
    shape.rank = static_cast<std::int64_t>(own);
    out.push_back({map.path, shape});
  }
  if (!out.empty()) return out;
  fail(ErrorKind::Corruption, "{}: target_modules selects none of the model's {} linear maps{}", path,
       maps.size(), maps.empty() ? "" : "; the first one is " + maps.front().hf);
}

Json peft_config(const std::vector<NamedMap>& maps, const std::string& base, bool transposed) {
  nn::LoraShape common;
  for (auto map = maps.rbegin(); map != maps.rend(); ++map) common = map->adapter.value_or(common);
  Json out;
  out["alpha_pattern"] = pattern_of(maps, common, alpha_of);
  out["base_model_name_or_path"] = base.empty() ? Json() : Json(base);
  out["bias"] = "none";
  out["fan_in_fan_out"] = transposed;
  out["inference_mode"] = true;
  out["init_lora_weights"] = true;
  out["layers_pattern"] = nullptr;
  out["layers_to_transform"] = nullptr;
  out["lora_alpha"] = plain_number(common.alpha);
  out["lora_dropout"] = common.dropout;
  out["modules_to_save"] = nullptr;
  out["peft_type"] = "LORA";
  out["r"] = common.rank;
  out["rank_pattern"] = pattern_of(maps, common, rank_of);
  out["revision"] = nullptr;
  out["target_modules"] = names_of_adapted(maps);
  out["task_type"] = "CAUSAL_LM";
  out["use_dora"] = false;
  out[std::string(kRankStabilized)] = common.rank_stabilized;
  return out;
}

}  // namespace bora::run
