// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/config.h"
#include "bora/base/json.h"

namespace bora::nn {

/// Frequencies of the rotary embedding (Su et al. 2021) and their extensions to longer contexts, as in
/// Hugging Face's modeling_rope_utils: default, linear, llama3, yarn (Peng et al. 2023).
struct RopeConfig {
  std::string type = "default";
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;                ///< llama3
  double beta_fast = 32, beta_slow = 1;                            ///< yarn
  std::optional<double> mscale, mscale_all_dim, attention_factor;  ///< yarn
  bool truncate = true;  ///< yarn: correction range rounded to whole dimensions
  std::int64_t original_max_position_embeddings = 8192;  ///< llama3, yarn

  void bind(Binder& b);
  /// From a Hugging Face config.json in either spelling (rope_theta + rope_scaling, or rope_parameters).
  static RopeConfig from_hf(const Json& config, std::string_view name);
  /// Writes rope_theta and rope_scaling.
  void to_hf(Json& config) const;
};

}  // namespace bora::nn
