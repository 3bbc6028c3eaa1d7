// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/json.h"

namespace bora::nn {

/// Frequencies of the rotary embedding (Su et al. 2021) and their extensions to longer contexts, as in
/// Hugging Face's modeling_rope_utils: default, linear, dynamic, llama3, yarn (Peng et al. 2023), longrope (Ding
/// et al. 2024).
struct RopeConfig {
  std::string type = "default";
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  ///< llama3
  double beta_fast = 32, beta_slow = 1;              ///< yarn
  std::optional<double> mscale, mscale_all_dim;      ///< yarn
  std::optional<double> attention_factor;            ///< yarn, longrope
  bool truncate = true;                              ///< yarn: correction range rounded to whole dimensions
  std::vector<double> short_factor, long_factor;  ///< longrope: of each frequency, up to the original context
                                                  ///< and beyond
  std::int64_t original_max_position_embeddings = 8192;  ///< all but default and linear

  /// longrope: a sequence of more positions than this has other angles from its first one on. Otherwise 0.
  std::int64_t short_positions() const { return type == "longrope" ? original_max_position_embeddings : 0; }
  /// The longest sequence of a Hugging Face model with `positions` in max_position_embeddings, which with dynamic
  /// scaling is the original context: `factor` times as many then.
  std::int64_t longest(std::int64_t positions) const;
  void bind(Binder& b);
  /// From a Hugging Face config.json in either spelling (rope_theta + rope_scaling, or rope_parameters).
  static RopeConfig from_hf(const Json& config, std::string_view name);
  /// Writes both spellings: rope_theta and rope_scaling, with longrope original_max_position_embeddings, too, as
  /// transformers 4 reads them, and rope_parameters, as transformers 5 does; with dynamic max_position_embeddings too.
  void to_hf(Json& config) const;

 private:
  void longrope_from_hf(const Json& config, const Json& scaling, double stretch, std::string_view name);
};

/// longrope's scale of queries and keys for a context `factor` times as long as the original one.
double longrope_scale(double factor, std::int64_t original);

/// Whether the rope_parameters of a config.json are nested by layer type.
bool rope_by_layers(const Json& config);
/// A config.json of a model whose layer types have rotary embeddings of their own, as one type's layers see
/// it: rope_parameters nested by type become theirs alone, in place of all that says the same in the older way.
/// Without nesting: as it is. What says no base has `theta`.
Json rope_of_layers(Json config, std::string_view layer_type, std::string_view name, double theta = 10000);

}  // namespace bora::nn
