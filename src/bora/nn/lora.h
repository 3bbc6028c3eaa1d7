// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Low-rank adapters (Hu et al. 2021) on the linear maps of any model, chosen by path.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bora/base/key.h"
#include "bora/nn/linear.h"

namespace bora::nn {

struct LoraOptions {
  /// Linear maps by path (base/path_pattern.h): {"*.q_proj", "layers.0.mlp"}. Empty: all but the head.
  std::vector<std::string> modules;
  std::int64_t rank = 8;
  double alpha = 8;              ///< the low-rank path is scaled by alpha / rank
  bool rank_stabilized = false;  ///< by alpha / sqrt(rank) instead (Kalajdzievski 2023)

  double scale() const {
    const auto r = static_cast<double>(rank);
    return alpha / (rank_stabilized ? std::sqrt(r) : r);
  }
};

namespace detail {

/// For each of the paths, whether it gets an adapter. Config errors, all at once: a rank below 1, patterns
/// that select no linear map.
std::vector<bool> lora_targets(const LoraOptions& options, const std::vector<std::string>& paths,
                               const std::string& head);

template <Axis... As>
SizesOf<Axes<As...>> sizes_in(const auto& tensor) {
  return {tensor.template dim<As>()...};
}
template <class List>
inline constexpr auto sizes_of = nullptr;
template <Axis... As>
inline constexpr auto sizes_of<Axes<As...>> = [](const auto& tensor) { return sizes_in<As...>(tensor); };

// f(path, map) for every linear map that has values.
template <class M, class F>
void each_linear(M& model, F f) {
  visit_modules(model, [&]<class T>(const std::string& path, T& module) {
    if constexpr (requires {
                    typename T::in;
                    typename T::out;
                    module.lora;
                  })
      if (!module.weight.empty()) f(path, module);
  });
}

template <class L>
void attach_to(L& map, const LoraOptions& options, Key key) {
  const auto in = sizes_of<typename L::in>(map.weight);
  const auto out = sizes_of<typename L::out>(map.weight);
  const SizesOf<Axes<LoraRank>> rank{Dim<LoraRank>{options.rank}};
  double fan_in = 1;
  for (const auto n : in.sizes) fan_in *= static_cast<double>(n);
  map.lora.emplace();
  map.lora->a.weight = normal_parameter(key, 1 / std::sqrt(fan_in), join_sizes(rank, in));
  map.lora->b.weight = zeros_parameter(join_sizes(out, rank));
  map.lora->scale = options.scale();
}

}  // namespace detail

/// Gives linear maps of a model an adapter, whose A is normal (variance 1 / fan-in) and B zeros, so that the
/// model computes what it did, and freezes all parameters but the adapters'. Returns the paths of these maps.
/// Before optimizers and stores look at the model.
template <Module M>
std::vector<std::string> attach_lora(M& model, const LoraOptions& options, Key key) {
  std::vector<std::string> paths, adapted;
  std::string head;
  detail::each_linear(model, [&](const std::string& path, auto& map) {
    paths.push_back(path);
    if constexpr (requires { model.head().array(); })
      if (model.head().array().node() == map.weight.array().node()) head = path;
  });
  const auto targets = detail::lora_targets(options, paths, head);
  std::size_t next = 0;
  detail::each_linear(model, [&](const std::string& path, auto& map) {
    if (!targets[next++]) return;
    detail::attach_to(map, options, key.fold(path));
    adapted.push_back(path);
  });
  for (auto& p : parameters(model)) core::set_trainable(*p.array, p.role == core::Role::adapter);
  return adapted;
}

/// The model without adapters that computes the same: W + scale · B·A in each map. All parameters are trained
/// again. For a model whose parameters are whole in memory.
template <Module M>
void merge_lora(M& model) {
  detail::each_linear(model, []<class L>(const std::string& /*path*/, L& map) {
    if (!map.lora) return;
    map.weight = map.weight + dot<LoraRank>(map.lora->b.weight, map.lora->a.weight) * map.lora->scale;
    map.lora.reset();
  });
  for (auto& p : parameters(model)) core::set_trainable(*p.array, true);
}

}  // namespace bora::nn
