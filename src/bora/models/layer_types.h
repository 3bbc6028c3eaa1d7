// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"

namespace bora::models {

/// Which layers see all positions, and which only those of a window: one after the other, or by a pattern.
struct LayerTypes {
  std::int64_t pattern;                                ///< layers pattern - 1, 2 · pattern - 1, ... see all
  std::optional<std::vector<std::string>> types = {};  ///< "sliding_attention" or "full_attention" for each

  /// The keys sliding_window_pattern and layer_types.
  void bind(Binder& b, std::int64_t num_layers);
  bool slides(std::int64_t layer) const;
  /// layer_types of a config.json.
  std::vector<std::string> names(std::int64_t num_layers) const;
};

}  // namespace bora::models
