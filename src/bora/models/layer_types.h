// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"

namespace bora::models {

using LayerTypeNames = std::vector<std::string>;  ///< "sliding_attention" or "full_attention" for each

/// Which layers see all positions, and which only those of a window: one after the other, or by a pattern.
struct LayerTypes {
  std::int64_t pattern;                      ///< layers pattern - 1, 2 · pattern - 1, ... see all
  std::optional<LayerTypeNames> types = {};  ///< these, where they are given

  /// The keys sliding_window_pattern and layer_types.
  void bind(Binder& b, std::int64_t num_layers);
  bool slides(std::int64_t layer) const;
  /// layer_types of a config.json.
  LayerTypeNames names(std::int64_t num_layers) const;
};

/// The key layer_types of a family whose layers have another rule without it.
void bind_layer_types(Binder& b, std::optional<LayerTypeNames>& types, std::int64_t num_layers,
                      std::string_view otherwise);
bool slides(const LayerTypeNames& types, std::int64_t layer);
/// Without layer_types that say what the family's rule gives, which newer files of Hugging Face always have.
template <class Config>
Config without_usual_types(Config config) {
  Config usual = config;
  usual.layer_types.reset();
  for (std::int64_t i = 0; i < config.num_layers; ++i)
    if (usual.window(i) != config.window(i)) return config;
  return usual;
}

}  // namespace bora::models
