// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/config_checks.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"

namespace bora::models {
namespace {

// Their bytes, and those of an optimizer's state beside them, are counted in 64 bits.
constexpr double kMostParameters = 0x1p58;

// "4 or 6": the divisors of `whole` on either side of `wanted`.
std::string nearest_divisors(std::int64_t whole, std::int64_t wanted) {
  std::int64_t below = 0, above = 0;
  const auto consider = [&](std::int64_t d) {
    if (d <= wanted) below = std::max(below, d);
    if (d > wanted && (above == 0 || d < above)) above = d;
  };
  for (std::int64_t d = 1; d * d <= whole; ++d) {
    if (whole % d != 0) continue;
    consider(d);
    consider(whole / d);
  }
  if (below == 0) return std::to_string(above);
  return above == 0 ? std::to_string(below) : fmt::format("{} or {}", below, above);
}

}  // namespace

void check_heads(Binder& b, std::int64_t hidden_dim, std::int64_t num_heads, std::int64_t num_kv_heads,
                 std::optional<std::int64_t> head_dim, bool rotary) {
  if (!b.sound({"hidden_dim", "num_heads", "num_kv_heads", "head_dim"})) return;
  if (num_heads % num_kv_heads != 0) {
    b.problem("num_kv_heads", fmt::format("must divide {} = {}; nearest: {}", b.path("num_heads"), num_heads,
                                          nearest_divisors(num_heads, num_kv_heads)));
  }
  if (!head_dim && hidden_dim % num_heads != 0) {
    b.problem("num_heads", fmt::format("must divide {} = {}; nearest: {}", b.path("hidden_dim"), hidden_dim,
                                       nearest_divisors(hidden_dim, num_heads)));
    return;
  }
  auto size = head_dim.value_or(hidden_dim / num_heads);
  if (rotary && size % 2 != 0 && head_dim) {
    b.problem("head_dim", fmt::format("must be even for rotary embeddings; nearest: {}",
                                      size == 1 ? "2" : fmt::format("{} or {}", size - 1, size + 1)));
  } else if (rotary && size % 2 != 0) {
    b.problem("num_heads",
              fmt::format("{} of {} = {} are {} wide, and rotary embeddings need an even width; {}",
                          num_heads, b.path("hidden_dim"), hidden_dim, size,
                          hidden_dim % 2 == 0
                              ? fmt::format("nearest: {}", nearest_divisors(hidden_dim / 2, num_heads))
                              : "take an even " + b.path("hidden_dim")));
  }
  check_width(b, "num_heads", num_heads, "head_dim", size);
}

void check_width(Binder& b, std::string_view key, std::int64_t value, std::string_view other,
                 std::int64_t other_value) {
  if (!b.sound({key, other})) return;
  std::int64_t width = 0;
  if (!__builtin_mul_overflow(value, other_value, &width) && kSize.allows(static_cast<double>(width))) return;
  b.problem(key, fmt::format("times {} = {} must be {}", b.path(other), other_value, kSize.words()));
}

void check_parameters(Binder& b, std::int64_t hidden_dim, std::int64_t num_layers, double parameters,
                      const SizeKeys& keys) {
  if (parameters <= kMostParameters || !b.sound({keys.width, keys.layers})) return;
  b.problem(keys.width,
            fmt::format("is too large: {} = {} and {} = {} make {:.3g} parameters, and at most {:.3g} can be "
                        "counted",
                        b.path(keys.width), hidden_dim, b.path(keys.layers), num_layers, parameters,
                        kMostParameters));
}

void require_countable(double parameters, std::int64_t vocab_size, std::int64_t hidden_dim,
                       const SizeKeys& keys) {
  if (parameters <= kMostParameters) return;
  fail(ErrorKind::Config,
       "model: a vocabulary of {} and a width of {} make {:.3g} parameters, and at most {:.3g} can be "
       "counted\nhint: a smaller model.{}, or a tokenizer with fewer ids",
       vocab_size, hidden_dim, parameters, kMostParameters, keys.width);
}

void require_none(std::vector<ConfigProblem> problems, std::string_view name) {
  if (problems.empty()) return;
  for (auto& problem : problems) problem.where = name;
  throw Error(ErrorKind::Corruption, format_problems(std::string(name), problems));
}

void ignore_accelerator_keys(Binder& b) {
  constexpr std::string_view kWhy = "Bora chooses its attention kernels itself";
  b.ignored("flash_attention_block_size", kWhy);
  b.ignored("use_flash_attention", kWhy);
  b.ignored("attn_backend", kWhy);
  b.ignored("upcast_attn", "attention scores are always fp32");
  b.ignored("scan_layers", "blocks are always stacked");
  b.ignored("cross_entropy_block_size", "the head is always computed in chunks");
  b.ignored("gradient_checkpointing_block_size", "use gradient_checkpointing: <n>");
  b.ignored("reference_checkpoint", "give --model or initialize_from_hf");
  b.ignored("tokenizer", "the tokenizer comes from data.tokenizer");
}

void bind_fixed(Binder& b, std::string_view key, std::string_view only) {
  b.ignored(key, fmt::format("always {}", only));
  if (const auto text = b.text(key); text && *text != only)
    b.problem(key, fmt::format("must be {} in models of this type", only));
}

double values_of_dropped_attention(double p, std::int64_t heads, std::int64_t layers, std::int64_t keys,
                                   const nn::RematPolicy& policy) {
  if (p <= 0) return 0;
  std::int64_t kept = 1;  // the one that is computed again
  if (policy.kind == nn::RematPolicy::Kind::none) kept = layers;
  if (policy.kind == nn::RematPolicy::Kind::every)
    kept += layers - (layers + policy.every - 1) / policy.every;
  return static_cast<double>(2 * kept + 3) * static_cast<double>(heads) * static_cast<double>(keys);
}

std::string plain_activation(const std::string& hf) {
  if (hf == "gelu_pytorch_tanh" || hf == "gelu_fast") return "gelu_new";
  return hf == "swish" ? "silu" : hf;
}

std::string renamed(std::string_view path,
                    const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string out(path);
  for (const auto& [from, to] : pairs) {
    auto at = out.find(from);
    if (at != std::string::npos) out.replace(at, from.size(), to);
  }
  return out;
}

void require_fixed(const Json& json, const Json& fixed, std::string_view name) {
  for (const auto& item : fixed.items()) {
    const auto found = json.find(item.key());
    if (found == json.end() || found->is_null() || *found == item.value()) continue;
    fail(ErrorKind::Unsupported, "{}: {} is {}; in models of this type it must be {}", name, item.key(),
         found->dump(), item.value().dump());
  }
}

void require_agreement(std::string_view key, const Json& value, std::string_view other, const Json& its,
                       std::string_view name) {
  if (value.is_null() || its.is_null() || value == its) return;
  fail(ErrorKind::Corruption, "{}: {} is {} and {} is {}, which must be the same; remove one of the two",
       name, key, value.dump(), other, its.dump());
}

Json under_first_names(Json json, const KeyNames& first_and_second, std::string_view name) {
  for (const auto& [first, second] : first_and_second) {
    const Json other = json.value(std::string(second), Json());
    Json& value = json[std::string(first)];
    require_agreement(second, other, first, value, name);
    if (value.is_null()) value = other;
    if (value.is_null()) json.erase(std::string(first));
  }
  return json;
}

}  // namespace bora::models
