// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/rope_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"
#include "bora/base/keys_of_types.h"
#include "bora/base/text.h"

namespace bora::nn {
namespace {

constexpr const char* kTypes[] = {"default", "linear", "dynamic", "llama3", "yarn", "longrope"};

std::vector<double> numbers(const Json& object, std::string_view key, std::string_view name) {
  const auto list = object.find(key);
  const auto is_number = [](const Json& x) { return x.is_number() && x.get<double>() > 0; };
  if (list == object.end() || !list->is_array() || !std::all_of(list->begin(), list->end(), is_number))
    fail(ErrorKind::Corruption, "{}: rope_scaling.{} should be a list of numbers above 0", name, key);
  return list->get<std::vector<double>>();
}

std::optional<double> optional_number(const Json& object, std::string_view key, std::string_view name) {
  auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::nullopt;
  return json_get<double>(object, key, name);
}

// rope_scaling; null where there is none.
Json hf_scaling(const RopeConfig& c) {
  if (c.type == "default") return nullptr;
  if (c.type == "longrope") {  // transformers 4 takes these three keys for Phi-3 and no others
    Json s = {{"type", c.type}, {"short_factor", c.short_factor}, {"long_factor", c.long_factor}};
    if (c.attention_factor) s["attention_factor"] = *c.attention_factor;
    return s;
  }
  Json s = {{"rope_type", c.type}, {"factor", c.factor}};
  if (c.type == "llama3") {
    s["low_freq_factor"] = c.low_freq_factor;
    s["high_freq_factor"] = c.high_freq_factor;
  }
  if (c.type == "yarn") {
    s["beta_fast"] = c.beta_fast;
    s["beta_slow"] = c.beta_slow;
    if (c.mscale) s["mscale"] = *c.mscale;
    if (c.mscale_all_dim) s["mscale_all_dim"] = *c.mscale_all_dim;
    if (c.attention_factor) s["attention_factor"] = *c.attention_factor;
    if (!c.truncate) s["truncate"] = false;
  }
  if (c.type != "linear" && c.type != "dynamic")
    s["original_max_position_embeddings"] = c.original_max_position_embeddings;
  return s;
}

// In the words of who writes: a type forgotten beside its numbers would be the plain embedding.
void refuse_numbers_of_others(Binder& b, const RopeConfig& c) {
  if (!b.sound({"type"})) return;
  const RopeConfig usual;
  const KeyOfTypes all[] = {{"factor", "linear, dynamic, llama3, yarn", c.factor == usual.factor},
                            {"low_freq_factor", "llama3", c.low_freq_factor == usual.low_freq_factor},
                            {"high_freq_factor", "llama3", c.high_freq_factor == usual.high_freq_factor},
                            {"beta_fast", "yarn", c.beta_fast == usual.beta_fast},
                            {"beta_slow", "yarn", c.beta_slow == usual.beta_slow},
                            {"truncate", "yarn", c.truncate == usual.truncate},
                            {"mscale", "yarn", !c.mscale},
                            {"mscale_all_dim", "yarn", !c.mscale_all_dim},
                            {"attention_factor", "yarn, longrope", !c.attention_factor},
                            {"short_factor", "longrope", c.short_factor.empty()},
                            {"long_factor", "longrope", c.long_factor.empty()},
                            {"original_max_position_embeddings", "dynamic, llama3, yarn, longrope",
                             c.original_max_position_embeddings == usual.original_max_position_embeddings}};
  refuse_keys_of_other_types(b, c.type, all);
}

}  // namespace

void RopeConfig::bind(Binder& b) {
  if (b.reading() && b.text("type") == "llama3") theta = 500000, factor = 8;
  b.choice("type", type, {std::begin(kTypes), std::end(kTypes)},
           "kind of frequency scaling; with llama3 the defaults of theta and factor are 500000 and 8");
  b.field("theta", theta, kPositive, "base of the wavelengths");
  b.field("factor", factor, kPositive, "how much longer than the original context");
  b.field("low_freq_factor", low_freq_factor, kPositive,
          "llama3: waves longer than the original context / this are stretched by factor");
  b.field("high_freq_factor", high_freq_factor, kPositive,
          "llama3: waves shorter than the original context / this stay as they are");
  b.field("beta_fast", beta_fast, kPositive,
          "yarn: waves that turn more often than this in the original context stay as they are");
  b.field("beta_slow", beta_slow, kPositive, "yarn: waves that turn less often are stretched by factor");
  b.field("truncate", truncate, "yarn: whether both bounds are rounded outwards, to whole dimensions");
  b.field("mscale", mscale, kNonNegative,
          "yarn: with mscale_all_dim, attention is scaled by the quotient of 0.1 * this * ln(factor) + 1 for "
          "both");
  b.field("mscale_all_dim", mscale_all_dim, kNonNegative, "yarn: see mscale");
  b.field("attention_factor", attention_factor, kPositive,
          "yarn: scale of queries and keys; default 0.1 ln(factor) + 1; longrope: the same; default "
          "sqrt(1 + ln(seq_len / original) / ln(original))");
  b.field("short_factor", short_factor, kPositive,
          "longrope: each frequency is divided by its own in sequences up to the original context");
  b.field("long_factor", long_factor, kPositive, "longrope: the same in longer sequences");
  b.field("original_max_position_embeddings", original_max_position_embeddings, kSize,
          "dynamic, llama3, yarn, longrope: the context before the extension");
  if (type == "llama3" && high_freq_factor <= low_freq_factor) {
    b.problem("high_freq_factor",
              fmt::format("must be above {} = {}", b.path("low_freq_factor"), low_freq_factor));
  }
  if (b.reading()) refuse_numbers_of_others(b, *this);
}

namespace {

// A directory in the spellings of transformers 4 and 5 says everything twice. Who edits one of the two must hear
// of the other, which transformers would take.
void require_same(const Json& old, const Json& parameters, std::string_view name) {
  for (const auto& item : old.items()) {
    const auto again = parameters.find(item.key());
    if (again == parameters.end() || item.value().is_null() || again->is_null() || *again == item.value())
      continue;
    fail(
        ErrorKind::Corruption,
        "{}: {} is {} in rope_scaling and {} in rope_parameters; give both the same value, or remove one of the two",
        name, item.key(), item.value().dump(), again->dump());
  }
}

constexpr const char* kOriginal = "original_max_position_embeddings";

// A 0 is none to transformers.
std::optional<double> scale_unless_0(const Json& object, std::string_view key, std::string_view name) {
  const auto scale = optional_number(object, key, name);
  return scale == 0.0 ? std::nullopt : scale;
}

// The context before the extension, which stands beside rope_scaling or in it.
std::int64_t original_context(const Json& config, const Json& scaling, std::string_view type,
                              std::int64_t longest, std::string_view name) {
  if (type == "dynamic") return longest;  // as transformers does, whatever stands there
  const auto inside = json_get<std::int64_t>(scaling, kOriginal, name, longest);
  if (type != "llama3" && type != "yarn" && type != "longrope") return inside;
  const auto beside = json_get<std::int64_t>(config, kOriginal, name, inside);
  if (beside != inside && !scaling.value(kOriginal, Json()).is_null())
    fail(ErrorKind::Corruption,
         "{}: {} is {} and in rope_parameters {}, which must be the same; remove one of the two", name,
         kOriginal, beside, inside);
  return beside;
}

double theta_from_hf(const Json& config, const Json& scaling, std::string_view name, double standard) {
  const auto outside = json_get<double>(config, "rope_theta", name, standard);
  const auto inside = json_get<double>(scaling, "rope_theta", name, outside);
  if (outside > 0 && inside > 0 && outside != inside && config.contains("rope_theta"))
    fail(ErrorKind::Corruption,
         "{}: rope_theta is {} and in rope_parameters {}; give both the same value, or remove one of the two",
         name, outside, inside);
  return outside > 0 ? inside : outside;
}

}  // namespace

RopeConfig RopeConfig::from_hf(const Json& config, std::string_view name) {
  RopeConfig c;
  c.theta = json_get<double>(config, "rope_theta", name, c.theta);
  const Json* scaling = nullptr;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    auto it = config.find(key);
    if (it == config.end() || it->is_null()) continue;
    if (!it->is_object()) fail(ErrorKind::Corruption, "{}: {} should be an object or null", name, key);
    if (it->empty()) continue;  // as if it were not there
    if (scaling != nullptr) require_same(*it, *scaling, name);
    scaling = &*it;
  }
  auto longest = json_get<std::int64_t>(config, "max_position_embeddings", name, 2048);
  c.original_max_position_embeddings = longest;
  if (scaling == nullptr) return c;
  const auto& s = *scaling;
  if (rope_by_layers(config))
    fail(ErrorKind::Unsupported, "{}: rope_parameters by layer type; layers of this model all have the same",
         name);
  c.theta = theta_from_hf(config, s, name, c.theta);
  c.type = json_get<std::string>(s, "rope_type", name, json_get<std::string>(s, "type", name, "default"));
  if (std::find(std::begin(kTypes), std::end(kTypes), c.type) == std::end(kTypes)) {
    fail(ErrorKind::Unsupported, "{}: rope_type {} is not one of {}", name, c.type,
         join(std::vector<std::string>(std::begin(kTypes), std::end(kTypes))));
  }
  c.low_freq_factor = json_get<double>(s, "low_freq_factor", name, c.low_freq_factor);
  c.high_freq_factor = json_get<double>(s, "high_freq_factor", name, c.high_freq_factor);
  c.beta_fast = optional_number(s, "beta_fast", name).value_or(c.beta_fast);
  c.beta_slow = optional_number(s, "beta_slow", name).value_or(c.beta_slow);
  c.mscale = scale_unless_0(s, "mscale", name);
  c.mscale_all_dim = scale_unless_0(s, "mscale_all_dim", name);
  c.attention_factor = optional_number(s, "attention_factor", name);
  c.truncate = json_get<bool>(s, "truncate", name, true);
  c.original_max_position_embeddings = original_context(config, s, c.type, longest, name);
  const double stretch =
      double(longest) / double(std::max<std::int64_t>(1, c.original_max_position_embeddings));
  const auto null_factor = c.type == "yarn" && s.contains("factor") ? stretch : c.factor;
  c.factor = optional_number(s, "factor", name).value_or(null_factor);
  if (c.type == "longrope") c.longrope_from_hf(config, s, stretch, name);
  return c;
}

// Attention is scaled by how much longer the new context is than the original one, or by `factor`: transformers 4
// takes the former where the original stands beside rope_scaling, and 5 the latter wherever it is given.
void RopeConfig::longrope_from_hf(const Json& config, const Json& scaling, double stretch,
                                  std::string_view name) {
  short_factor = numbers(scaling, "short_factor", name);
  long_factor = numbers(scaling, "long_factor", name);
  factor = 1;
  const auto given = optional_number(scaling, "factor", name);
  if (!given || attention_factor) return;
  const bool beside = !config.value(kOriginal, Json()).is_null();
  if (beside && std::max(1.0, *given) != std::max(1.0, stretch))
    fail(
        ErrorKind::Unsupported,
        "{}: rope_scaling.factor is {}, but max_position_embeddings / original_max_position_embeddings is {}: versions "
        "of transformers differ in which of the two scales longrope\nhint: give both the same value, or remove factor",
        name, *given, stretch);
  if (!beside) attention_factor = longrope_scale(*given, original_max_position_embeddings);
}

double longrope_scale(double factor, std::int64_t original) {
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original)));
}

std::int64_t RopeConfig::longest(std::int64_t positions) const {
  constexpr double kMost = 0x7FFFFFFF;
  const double longer = factor * static_cast<double>(positions);
  // A factor that cannot be is told as such by who checks the values, and not as a length.
  return type == "dynamic" && factor > 1 && longer <= kMost ? static_cast<std::int64_t>(longer) : positions;
}

void RopeConfig::to_hf(Json& config) const {
  const Json scaling = hf_scaling(*this);
  config["rope_theta"] = theta;
  config["rope_scaling"] = scaling;
  Json parameters = scaling.is_null() ? Json::object() : scaling;
  parameters["rope_type"] = type;
  parameters["rope_theta"] = theta;
  if (type == "longrope") {
    config["original_max_position_embeddings"] = original_max_position_embeddings;
    parameters["original_max_position_embeddings"] = original_max_position_embeddings;
    parameters.erase("type");
  }
  if (type == "dynamic") config["max_position_embeddings"] = original_max_position_embeddings;
  config["rope_parameters"] = parameters;
}

bool rope_by_layers(const Json& config) {
  const auto found = config.find("rope_parameters");
  return found != config.end() && (found->contains("full_attention") || found->contains("sliding_attention"));
}

namespace {

// transformers looks for the original context among the numbers of each layer type alone: that beside them says nothing.
void drop_original(Json& config, std::string_view name) {
  const auto beside = json_get<std::int64_t>(config, kOriginal, name, 1);
  if (const auto wrong = kSize.problem<std::int64_t>(static_cast<double>(beside)))
    fail(ErrorKind::Corruption, "{}: {} = {} {}", name, kOriginal, beside, *wrong);
  config.erase(kOriginal);
}

void set_default_theta(Json& config, double theta) {
  const auto parameters = config.find("rope_parameters");
  const bool inside = parameters != config.end() && parameters->contains("rope_theta");
  if (!inside && !config.contains("rope_theta")) config["rope_theta"] = theta;
}

}  // namespace

Json rope_of_layers(Json config, std::string_view layer_type, std::string_view name, double theta) {
  if (!layer_type.empty()) drop_original(config, name);
  if (!rope_by_layers(config)) {
    set_default_theta(config, theta);
    return config;
  }
  const Json all = config["rope_parameters"];
  const auto own = all.find(layer_type);
  if (own == all.end() || !own->is_object())
    fail(ErrorKind::Corruption, "{}: rope_parameters.{} should be an object", name, layer_type);
  config["rope_parameters"] = *own;
  config.erase("rope_scaling");
  if (layer_type != "full_attention") config.erase("rope_theta");  // that of the other layers
  set_default_theta(config, theta);
  return config;
}

}  // namespace bora::nn
