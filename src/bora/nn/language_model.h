// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A language model without its type: what trainers, servers and tools see.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/json.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/param.h"
#include "bora/nn/context.h"
#include "bora/nn/init.h"
#include "bora/nn/model_concepts.h"  // IWYU pragma: export
#include "bora/nn/model_shape.h"

namespace bora::nn {

/// One batch on its way into a model.
struct TokenBatch {
  core::Array ids;       ///< i32 [batch, position]
  core::Array targets;   ///< i32 [batch, position]: what each position should predict
  core::Array weights;   ///< f32 [batch, position]: how much that counts
  core::Array segments;  ///< i32 [batch, position] or empty: no attention across different numbers
};

struct LossOptions {
  core::DType compute = core::DType::f32;  ///< dtype of the forward and backward pass; parameters stay fp32
  double z_loss = 0;                       ///< weight of logsumexp²
  std::int64_t chunk = 1024;               ///< positions of the head at a time
};

/// Name and layout of a parameter in the Hugging Face format.
struct HfName {
  std::string name;
  bool transposed = false;  ///< stored (in, out)
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual std::vector<core::ParamRef> parameters() = 0;
  virtual ModelShape shape() const = 0;

  /// Sum of weighted losses and sum of weights of a batch. Dropout is active where there is a key.
  virtual core::CrossEntropy loss(const TokenBatch& batch, std::optional<Key> key,
                                  const LossOptions& options) const = 0;
  /// [batch, position, vocab] for ids i32 [batch, position]; with a cache in the context, the next positions.
  virtual core::Array logits(const core::Array& ids, const Context& context) const = 0;

  /// The same as here where the model has no hf_name.
  virtual HfName hf_name(std::string_view path) const = 0;
  virtual Json hf_config() const = 0;
};

namespace detail {
template <Axis First, Axis... Rest>
First first_axis(const Named<First, Rest...>&);  // for its type alone
}  // namespace detail

/// The axis of a model's vocabulary: the first of its head's.
template <class M>
using VocabAxis = decltype(detail::first_axis(std::declval<const M&>().head()));

/// What a model type must offer: see model_concepts.h and models/llama.h.
template <CompleteModel M>
class LanguageModelOf final : public LanguageModel {
 public:
  using Batch = typename M::BatchAxis;
  using Pos = typename M::PosAxis;

  explicit LanguageModelOf(M model) : model_(std::move(model)) {}
  std::vector<core::ParamRef> parameters() override { return bora::parameters(model_); }
  ModelShape shape() const override { return model_.shape(); }
  HfName hf_name(std::string_view path) const override {
    if constexpr (requires { model_.hf_name(path); })
      return model_.hf_name(path);
    else
      return {std::string(path)};
  }
  Json hf_config() const override { return model_.hf_config(); }

  core::CrossEntropy loss(const TokenBatch& batch, std::optional<Key> key,
                          const LossOptions& options) const override {
    hold_outside_stacks();
    const M compute = options.compute == core::DType::f32 ? model_ : cast_parameters(model_, options.compute);
    Context context{.mask = AttentionMask::causal_mask().with_segments(batch.segments),
                    .key = key,
                    .compute = options.compute};
    auto hidden = compute(indices_from_array<Batch, Pos>(batch.ids), context);
    const auto& head = compute.head();
    core::Names positions = Axes<Batch, Pos>::names;
    return core::linear_cross_entropy(hidden.operand(), head.operand(), {batch.targets, positions},
                                      {batch.weights, positions}, options.z_loss, options.chunk);
  }

  core::Array logits(const core::Array& ids, const Context& context) const override {
    hold_outside_stacks();
    auto hidden = model_(indices_from_array<Batch, Pos>(ids), context);
    if (context.cache != nullptr) context.cache->advance(ids.size(1));
    return dot<typename M::EmbedAxis>(hidden, model_.head()).array();
  }

  M& model() { return model_; }

 private:
  // Embeddings, the head and the like are used at both ends of a pass.
  void hold_outside_stacks() const {
    if (auto* store = core::parameter_store())
      store->hold(arrays_of(parameters_outside_stacks(const_cast<M&>(model_))));
  }

  M model_;
};

template <CompleteModel M>
std::unique_ptr<LanguageModel> erase_type(M model) {
  return std::make_unique<LanguageModelOf<M>>(std::move(model));
}

}  // namespace bora::nn
