// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"

namespace bora::nn {
namespace {

constexpr double kPi = std::numbers::pi;

// Frequencies in float, as the reference computes them, so that long positions round alike.
std::vector<float> base_frequencies(double theta, std::int64_t head_dim) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    auto exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    out.push_back(1.0F / std::pow(static_cast<float>(theta), exponent));
  }
  return out;
}

float llama3_frequency(const RopeConfig& c, float f) {
  double wavelength = 2 * kPi / f;
  auto context = static_cast<double>(c.original_max_position_embeddings);
  if (wavelength > context / c.low_freq_factor) return static_cast<float>(f / c.factor);
  if (wavelength < context / c.high_freq_factor) return f;
  double s = (context / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
  return static_cast<float>((1 - s) * f / c.factor + s * f);
}

// The dimension whose wave turns `rotations` times over the original context.
double yarn_dimension(const RopeConfig& c, double rotations, std::int64_t head_dim) {
  auto context = static_cast<double>(c.original_max_position_embeddings);
  return static_cast<double>(head_dim) * std::log(context / (rotations * 2 * kPi)) / (2 * std::log(c.theta));
}

void apply_yarn(const RopeConfig& c, std::int64_t head_dim, std::vector<float>& f) {
  double low = yarn_dimension(c, c.beta_fast, head_dim), high = yarn_dimension(c, c.beta_slow, head_dim);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = static_cast<float>(f[i] / c.factor * ramp + f[i] * (1 - ramp));
  }
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

double attention_factor(const RopeConfig& c) {
  if (c.type != "yarn") return 1;
  if (c.attention_factor) return *c.attention_factor;
  if (c.mscale && c.mscale_all_dim) return yarn_scale(c.factor, *c.mscale) / yarn_scale(c.factor, *c.mscale_all_dim);
  return yarn_scale(c.factor, 1);
}

std::vector<float> frequencies(const RopeConfig& c, std::int64_t head_dim) {
  auto f = base_frequencies(c.theta, head_dim);
  if (c.type == "linear") {
    for (auto& x : f) x = static_cast<float>(x / c.factor);
  } else if (c.type == "llama3") {
    for (auto& x : f) x = llama3_frequency(c, x);
  } else if (c.type == "yarn") {
    apply_yarn(c, head_dim, f);
  }
  return f;
}

std::optional<double> optional_number(const Json& object, std::string_view key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

}  // namespace

void RopeConfig::bind(Binder& b) {
  if (b.reading() && b.text("type") == "llama3") theta = 500000, factor = 8;
  b.choice("type", type, {"default", "linear", "llama3", "yarn"}, "kind of frequency scaling");
  b.field("theta", theta, "base of the wavelengths");
  b.field("factor", factor, "how much longer than the original context");
  b.field("low_freq_factor", low_freq_factor, "llama3");
  b.field("high_freq_factor", high_freq_factor, "llama3");
  b.field("beta_fast", beta_fast, "yarn");
  b.field("beta_slow", beta_slow, "yarn");
  b.field("mscale", mscale, "yarn");
  b.field("mscale_all_dim", mscale_all_dim, "yarn");
  b.field("attention_factor", attention_factor, "yarn");
  b.field("original_max_position_embeddings", original_max_position_embeddings, "context before the extension");
}

RopeConfig RopeConfig::from_hf(const Json& config, std::string_view name) {
  RopeConfig c;
  c.theta = json_get<double>(config, "rope_theta", name, c.theta);
  const Json* scaling = nullptr;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    auto it = config.find(key);
    if (it != config.end() && it->is_object()) scaling = &*it;
  }
  auto longest = json_get<std::int64_t>(config, "max_position_embeddings", name, 2048);
  c.original_max_position_embeddings = longest;
  if (scaling == nullptr) return c;
  const auto& s = *scaling;
  c.theta = json_get<double>(s, "rope_theta", name, c.theta);
  c.type = json_get<std::string>(s, "rope_type", name, json_get<std::string>(s, "type", name, "default"));
  if (c.type != "default" && c.type != "linear" && c.type != "llama3" && c.type != "yarn") {
    fail(ErrorKind::Unsupported, "{}: rope_type {} is not one of default, linear, llama3, yarn", name, c.type);
  }
  c.factor = json_get<double>(s, "factor", name, c.factor);
  c.low_freq_factor = json_get<double>(s, "low_freq_factor", name, c.low_freq_factor);
  c.high_freq_factor = json_get<double>(s, "high_freq_factor", name, c.high_freq_factor);
  c.beta_fast = optional_number(s, "beta_fast").value_or(c.beta_fast);
  c.beta_slow = optional_number(s, "beta_slow").value_or(c.beta_slow);
  c.mscale = optional_number(s, "mscale");
  c.mscale_all_dim = optional_number(s, "mscale_all_dim");
  c.attention_factor = optional_number(s, "attention_factor");
  c.truncate = json_get<bool>(s, "truncate", name, true);
  c.original_max_position_embeddings = json_get<std::int64_t>(s, "original_max_position_embeddings", name, longest);
  return c;
}

void RopeConfig::to_hf(Json& config) const {
  config["rope_theta"] = theta;
  if (type == "default") {
    config["rope_scaling"] = nullptr;
    return;
  }
  Json s = {{"rope_type", type}, {"factor", factor}};
  if (type == "llama3") {
    s["low_freq_factor"] = low_freq_factor;
    s["high_freq_factor"] = high_freq_factor;
  }
  if (type == "yarn") {
    s["beta_fast"] = beta_fast;
    s["beta_slow"] = beta_slow;
    if (mscale) s["mscale"] = *mscale;
    if (mscale_all_dim) s["mscale_all_dim"] = *mscale_all_dim;
    if (attention_factor) s["attention_factor"] = *attention_factor;
    if (!truncate) s["truncate"] = false;
  }
  if (type != "linear") s["original_max_position_embeddings"] = original_max_position_embeddings;
  config["rope_scaling"] = s;
}

RopeTable RopeTable::make(const RopeConfig& config, std::int64_t head_dim, std::int64_t positions) {
  auto f = frequencies(config, head_dim);
  auto scale = static_cast<float>(nn::attention_factor(config));
  std::vector<float> cos, sin;
  for (std::int64_t p = 0; p < positions; ++p) {
    for (float x : f) {
      float angle = static_cast<float>(p) * x;
      cos.push_back(std::cos(angle) * scale);
      sin.push_back(std::sin(angle) * scale);
    }
  }
  constexpr std::array<std::string_view, 2> names{"position", "half"};
  std::array<std::int64_t, 2> sizes{positions, static_cast<std::int64_t>(f.size())};
  core::Shape shape{names, sizes};
  return {core::from_data(shape, std::span<const float>(cos)), core::from_data(shape, std::span<const float>(sin))};
}

}  // namespace bora::nn
