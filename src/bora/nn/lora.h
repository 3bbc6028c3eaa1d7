// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Low-rank adapters (Hu et al. 2021) on the linear maps of any model, chosen by path.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/base/key.h"
#include "bora/nn/linear.h"
#include "bora/nn/linear_map.h"

namespace bora::nn {

struct LoraOptions {
  /// Linear maps by path (base/path_pattern.h): {"*.q_proj", "layers.0.mlp"}. Empty: all but the head.
  std::vector<std::string> modules;
  // As in LoraShape.
  std::int64_t rank = 8;
  double alpha = 8;
  bool rank_stabilized = false;
  double dropout = 0;

  LoraShape shape() const { return {rank, alpha, rank_stabilized, dropout}; }
};

namespace detail {

/// The adapters that options ask for. Config errors, all at once: numbers out of range, patterns that select
/// no linear map.
std::vector<NewAdapter> chosen_adapters(const LoraOptions& options, const std::vector<LinearMap>& maps);

/// Config errors, all at once: ranks below 1, paths that are not among the maps.
void require_maps(const std::vector<NewAdapter>& adapters, const std::vector<LinearMap>& maps);

/// Config errors for those that name the head.
void refuse_head(const std::vector<NewAdapter>& adapters, const std::vector<LinearMap>& maps);

/// W + scale · B·A.
core::Array merged(const core::Operand& weight, const core::Operand& b, const core::Operand& a, double scale);

inline double product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

template <class L>
void attach_to(L& map, const LoraShape& shape, Key key) {
  constexpr auto sizes_of = []<Axis... As>(Axes<As...> /*axes*/, const auto& tensor) {
    return SizesOf<Axes<As...>>{tensor.template dim<As>()...};
  };
  const auto in = sizes_of(typename L::in(), map.weight);
  const auto out = sizes_of(typename L::out(), map.weight);
  const SizesOf<Axes<LoraRank>> rank{Dim<LoraRank>{shape.rank}};
  map.lora.emplace();
  map.lora->a.weight = normal_parameter(key, 1 / std::sqrt(product(in.sizes)), join_sizes(rank, in));
  map.lora->b.weight = zeros_parameter(join_sizes(out, rank));
  map.lora->shape = shape;
}

/// A linear map of any axes: one walk of a model serves all that is done to its maps.
class AnyLinearMap {
 public:
  virtual const core::Array& weight() const = 0;
  virtual std::optional<LoraShape> adapter() const = 0;
  virtual void attach(const LoraShape& shape, Key key) = 0;
  virtual void merge() = 0;             ///< the adapter, if any, into the weight
  virtual void drop_with(Key key) = 0;  ///< inputs of the adapter, if any

 protected:
  ~AnyLinearMap() = default;
};

template <class L>
class LinearMapOf final : public AnyLinearMap {
 public:
  explicit LinearMapOf(L& map) : map_(map) {}
  const core::Array& weight() const override { return map_.weight.array(); }
  std::optional<LoraShape> adapter() const override {
    return map_.lora ? std::optional(map_.lora->shape) : std::nullopt;
  }
  void attach(const LoraShape& shape, Key key) override { attach_to(map_, shape, key); }
  void merge() override {
    if (!map_.lora) return;
    const auto& [a, b, shape, key] = *map_.lora;
    map_.weight = decltype(map_.weight)::adopt(
        merged(map_.weight.operand(), b.weight.operand(), a.weight.operand(), shape.scale()));
    map_.lora.reset();
  }
  void drop_with(Key key) override {
    if (map_.lora) map_.lora->key = key;
  }

 private:
  L& map_;
};

using AtLinearMap = std::function<void(const std::string& path, AnyLinearMap& map)>;

// For every linear map that has values.
template <class M>
void each_linear(M& model, const AtLinearMap& f) {
  visit_modules(model, [&]<class T>(const std::string& path, T& module) {
    if constexpr (requires {
                    typename T::in;
                    typename T::out;
                    module.lora;
                  }) {
      if (module.weight.empty()) return;
      LinearMapOf<T> map(module);
      f(path, map);
    }
  });
}

}  // namespace detail

/// In the order of the walk.
template <Module M>
std::vector<LinearMap> linear_maps(M& model) {
  std::vector<LinearMap> out;
  detail::each_linear(model, [&](const std::string& path, const detail::AnyLinearMap& map) {
    out.push_back({path, false, map.adapter()});
    if constexpr (requires { model.head().array(); })
      out.back().head = model.head().array().node() == map.weight().node();
  });
  return out;
}

/// Gives linear maps of a model an adapter, in the place of one that they may have, whose A is normal
/// (variance 1 / fan-in) and B zeros, so that the model computes what it did, and freezes all parameters but
/// the adapters'. Before optimizers and stores look at the model.
template <Module M>
void attach_adapters(M& model, const std::vector<NewAdapter>& adapters, Key key) {
  detail::require_maps(adapters, linear_maps(model));
  detail::each_linear(model, [&](const std::string& path, detail::AnyLinearMap& map) {
    for (const auto& adapter : adapters)
      if (adapter.path == path) map.attach(adapter.shape, key.fold(path));
  });
  for (auto& p : parameters(model)) core::set_trainable(*p.array, p.role == core::Role::adapter);
}

/// The same on the maps that options choose. Returns their paths.
template <Module M>
std::vector<std::string> attach_lora(M& model, const LoraOptions& options, Key key) {
  const auto adapters = detail::chosen_adapters(options, linear_maps(model));
  attach_adapters(model, adapters, key);
  std::vector<std::string> paths;
  for (const auto& adapter : adapters) paths.push_back(adapter.path);
  return paths;
}

/// The model without adapters that computes the same: W + scale · B·A in each map. All parameters are trained
/// again. For a model whose parameters are whole in memory.
template <Module M>
void merge_lora(M& model) {
  detail::each_linear(model, [](const std::string& /*path*/, detail::AnyLinearMap& map) { map.merge(); });
  for (auto& p : parameters(model)) core::set_trainable(*p.array, true);
}

/// Lets adapters drop inputs in the passes of this copy of a model: each map as the key and its path say, the
/// same again where a block is computed again.
template <Module M>
void drop_inputs(M& model, Key key) {
  detail::each_linear(model, [&](const std::string& path, detail::AnyLinearMap& map) {
    map.drop_with(key.fold("lora").fold(path));
  });
}

}  // namespace bora::nn
