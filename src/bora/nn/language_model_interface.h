// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A language model without its type: what trainers, servers and tools see. language_model.h, which model files
// include, makes one of any model.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/core/parameter.h"
#include "bora/nn/context.h"
#include "bora/nn/linear_map.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/objective.h"

namespace bora::nn {

/// Name and layout of a parameter in the Hugging Face format. Parameters of one name are parts of one tensor:
/// its rows are those of the first, then those of the second, in the model's order.
struct HfName {
  std::string name;
  bool transposed = false;  ///< stored (in, out)
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual std::vector<core::Parameter> parameters() = 0;
  virtual ModelShape shape() const = 0;

  /// The loss of a batch and what is told of it. Dropout is active where there is a key.
  virtual Objective objective(const TokenBatch& batch, std::optional<Key> key,
                              const LossOptions& options) const = 0;
  /// What the model says of each target, without dropout and without gradients: evaluation, references of
  /// other trainings.
  virtual core::LinearScores scores(const TokenBatch& batch, const ScoreOptions& options) const;
  /// [batch, position, vocab] for ids i32 [batch, position]. With a cache in the context the ids are each
  /// row's next ones, and the logits those of the last positions that the pass asks for; empty for none.
  virtual core::Array logits(const core::Array& ids, const Context& context) const = 0;

  /// The same as here where the model has no hf_name.
  virtual HfName hf_name(std::string_view path) const = 0;
  virtual Json hf_config() const = 0;

  // Adapters, as in nn/lora.h; no adapter goes on the head, whose weight alone losses use. Unsupported where
  // the model says nothing of its linear maps.
  virtual std::vector<LinearMap> linear_maps() { return {}; }
  virtual void attach_adapters(const std::vector<NewAdapter>& adapters, Key key);
  virtual void merge_adapters();
};

}  // namespace bora::nn
