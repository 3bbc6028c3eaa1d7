// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A model of any type as a LanguageModel.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/core/rows_apart.h"
#include "bora/nn/init.h"
#include "bora/nn/kv_cache.h"
#include "bora/nn/language_model_interface.h"  // IWYU pragma: export
#include "bora/nn/lora.h"
#include "bora/nn/model_concepts.h"  // IWYU pragma: export

namespace bora::nn {

namespace detail {
template <Axis First, Axis... Rest>
First first_axis(const Named<First, Rest...>&);  // for its type alone
}  // namespace detail

/// The axis of a model's vocabulary: the first of its head's.
template <class M>
using VocabAxis = decltype(detail::first_axis(std::declval<const M&>().head()));

/// What a model's head does beside its product: what its `core::HeadOptions head_options() const` says, of
/// which a model that has a scale, a soft cap or a bias there states the fields it needs. Without it: the
/// product alone.
template <class M>
core::HeadOptions head_options_of(const M& model) {
  static_assert(
      !requires(M& m) { m.head_options(); } || requires { model.head_options(); },
      "a model's head_options() must be a const function");
  if constexpr (requires { model.head_options(); })
    return model.head_options();
  else
    return {};
}

/// What a model type must offer: see model_concepts.h and models/llama.h.
template <CompleteModel M>
class LanguageModelOf final : public LanguageModel {
 public:
  using Batch = typename M::BatchAxis;
  using Pos = typename M::PosAxis;

  explicit LanguageModelOf(M model) : model_(std::move(model)) {
    for (const auto& map : nn::linear_maps(model_)) adapted_ = adapted_ || map.adapter;
  }
  std::vector<core::Parameter> parameters() override { return bora::parameters(model_); }
  ModelShape shape() const override { return model_.shape(); }
  HfName hf_name(std::string_view path) const override {
    if constexpr (requires { model_.hf_name(path); })
      return model_.hf_name(path);
    else
      return {std::string(path)};
  }
  Json hf_config() const override { return model_.hf_config(); }

  std::vector<LinearMap> linear_maps() override { return nn::linear_maps(model_); }
  void attach_adapters(const std::vector<NewAdapter>& adapters, Key key) override {
    detail::refuse_head(adapters, linear_maps());
    nn::attach_adapters(model_, adapters, key);
    adapted_ = true;
  }
  void merge_adapters() override { merge_lora(model_); }

  Objective objective(const TokenBatch& batch, std::optional<Key> key,
                      const LossOptions& options) const override {
    hold_outside_stacks();
    M compute = options.compute == core::DType::f32 ? model_ : cast_parameters(model_, options.compute);
    if (adapted_ && key) drop_inputs(compute, *key);
    return objective_of(compute, batch, key, options);
  }
  core::LinearScores scores(const TokenBatch& batch, const ScoreOptions& options) const override {
    hold_outside_stacks();
    const M compute = options.compute == core::DType::f32 ? model_ : cast_parameters(model_, options.compute);
    const Context context{.mask = AttentionMask::causal_mask().with_segments(batch.segments),
                          .present = batch.present,
                          .compute = options.compute};
    const auto hidden = compute(indices_from_array<Batch, Pos>(batch.ids), context);
    return core::linear_scores(hidden.operand(), compute.head().operand(),
                               {batch.targets, Axes<Batch, Pos>::names},
                               {head_options_of(compute), options.chunk, options.rank, options.top});
  }

  core::Array logits(const core::Array& ids, const Context& context) const override {
    hold_outside_stacks();
    core::Names out = Axes<Batch, Pos, VocabAxis<M>>::names;
    const auto with_head = [&](const auto& hidden) {
      return core::linear_logits(hidden.operand(), model_.head().operand(), head_options_of(model_), out);
    };
    const auto named = indices_from_array<Batch, Pos>(ids);
    if (context.cache == nullptr) return with_head(model_(named, context));
    auto& pass = *context.cache;
    const core::RowsApart apart(pass.rows());
    const auto n = ids.size(1), last = std::min(n, pass.last());
    const auto hidden = model_(named, context);
    pass.finish(n);
    if (last == 0) return {};
    return with_head(slice<Pos>(hidden, n - last, last));
  }

  M& model() { return model_; }

 private:
  static Objective objective_of(const M& model, const TokenBatch& batch, std::optional<Key> key,
                                const LossOptions& options) {
    const Context context{.mask = AttentionMask::causal_mask().with_segments(batch.segments),
                          .present = batch.present,
                          .key = key,
                          .compute = options.compute};
    if constexpr (requires { model.objective(batch, context, options); }) {
      Objective own = model.objective(batch, context, options);
      check_metrics(own.metrics);
      return own;
    } else {
      static_assert(
          !requires { &M::objective; },
          "a model's own objective must be callable as Objective objective(const nn::TokenBatch&, const "
          "nn::Context&, const nn::LossOptions&) const");
      auto hidden = model(indices_from_array<Batch, Pos>(batch.ids), context);
      return next_token_objective<Batch, Pos>(hidden, model.head(), batch, options, head_options_of(model));
    }
  }
  // Embeddings, the head and the like are used at both ends of a pass.
  void hold_outside_stacks() const {
    if (auto* store = core::parameter_store())
      store->hold(arrays_of(parameters_outside_stacks(const_cast<M&>(model_))));
  }

  M model_;
  bool adapted_ = false;
};

template <CompleteModel M>
std::unique_ptr<LanguageModel> erase_type(M model) {
  return std::make_unique<LanguageModelOf<M>>(std::move(model));
}

}  // namespace bora::nn
