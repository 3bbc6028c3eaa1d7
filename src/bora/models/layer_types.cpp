// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/layer_types.h"

#include <fmt/core.h>

#include <string_view>

namespace bora::models {
namespace {
constexpr std::string_view kSliding = "sliding_attention", kFull = "full_attention";
}

void LayerTypes::bind(Binder& b, std::int64_t num_layers) {
  b.field("sliding_window_pattern", pattern, kSize, "every so manyth layer sees all positions");
  bind_layer_types(b, types, num_layers, "by the pattern");
}

bool LayerTypes::slides(std::int64_t layer) const {
  return types ? models::slides(*types, layer) : (layer + 1) % pattern != 0;
}

void bind_layer_types(Binder& b, std::optional<LayerTypeNames>& types, std::int64_t num_layers,
                      std::string_view otherwise) {
  b.field("layer_types", types,
          fmt::format("sliding_attention or full_attention, for each layer; default {}", otherwise));
  if (!b.reading() || !types || !b.sound({"layer_types", "num_layers"})) return;
  if (std::ssize(*types) != num_layers) {
    b.problem("layer_types",
              fmt::format("has {} entries, but {} = {}", types->size(), b.path("num_layers"), num_layers));
  }
  for (const auto& type : *types) {
    if (type == kSliding || type == kFull) continue;
    b.problem("layer_types", fmt::format("has \"{}\", which is neither {} nor {}", type, kSliding, kFull));
    return;
  }
}

bool slides(const LayerTypeNames& types, std::int64_t layer) {
  return types.at(static_cast<std::size_t>(layer)) == kSliding;
}

LayerTypeNames LayerTypes::names(std::int64_t num_layers) const {
  LayerTypeNames out;
  for (std::int64_t i = 0; i < num_layers; ++i) out.emplace_back(slides(i) ? kSliding : kFull);
  return out;
}

}  // namespace bora::models
