// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/stored_weights.h"

#include <algorithm>
#include <set>
#include <string>

#include "bora/base/error.h"

namespace bora::nn {
namespace {

using Keep = void (*)(core::Array& weight, int outputs, core::WeightType type);

// The table of embeddings that is the head too.
bool is_head(const core::Parameter& p, const ModelShape& shape) {
  return shape.tied_head && p.role == core::Role::embedding && p.array->size(0) == shape.vocab;
}

void each_weight(LanguageModel& model, core::WeightType type, Keep keep) {
  if (type == core::WeightType::f32) return;
  std::set<std::string> weights;
  for (const auto& map : model.linear_maps()) weights.insert(map.path + ".weight");
  if (weights.empty())
    fail(ErrorKind::Unsupported, "weights as {}: this model says nothing of its linear maps\nhint: f32",
         core::name(type));
  const auto shape = model.shape();
  for (const auto& p : model.parameters()) {
    if (!is_head(p, shape) && !weights.contains(p.path)) continue;
    const auto outputs = is_head(p, shape) ? 1 : static_cast<int>(p.axes.size() - p.inputs.size());
    in_context(p.path, [&] { keep(*p.array, outputs, type); });
  }
}

}  // namespace

void store_weights(LanguageModel& model, core::WeightType type) {
  each_weight(model, type, core::store_weight);
}
void round_weights(LanguageModel& model, core::WeightType type) {
  each_weight(model, type, core::round_weight);
}

std::int64_t weight_bytes_of_a_token(LanguageModel& model) {
  const auto shape = model.shape();
  std::int64_t bytes = 0;
  for (const auto& p : model.parameters())
    if (p.role != core::Role::embedding || is_head(p, shape)) bytes += core::stored_bytes(*p.array);
  return bytes;
}

}  // namespace bora::nn
