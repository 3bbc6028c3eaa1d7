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
  b.field("layer_types", types,
          "sliding_attention or full_attention, for each layer; default by the pattern");
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

bool LayerTypes::slides(std::int64_t layer) const {
  return types ? types->at(static_cast<std::size_t>(layer)) == kSliding : (layer + 1) % pattern != 0;
}

std::vector<std::string> LayerTypes::names(std::int64_t num_layers) const {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < num_layers; ++i) out.emplace_back(slides(i) ? kSliding : kFull);
  return out;
}

}  // namespace bora::models
