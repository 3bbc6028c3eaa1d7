// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/config.h"
#include "bora/base/json.h"
#include "bora/core/fused.h"
#include "bora/core/update.h"
#include "bora/named/ops.h"
#include "bora/nn/context.h"

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

/// Precomputed angles: cos and sin [position, half].
struct RopeTable {
  core::Array cos, sin;

  static RopeTable make(const RopeConfig& config, std::int64_t head_dim, std::int64_t positions);
};

/// Rotates x along HeadDim by the angles of its positions along Pos.
template <Axis Pos, Axis HeadDim, NamedTensor X>
requires HasAxes<X, Pos, HeadDim> X rope(const X& x, const RopeTable& table, const Context& context) {
  auto first = context.first_position();
  if (first == 0) return X::adopt(core::rope(x.operand(), Pos::name, HeadDim::name, table.cos, table.sin));
  auto n = x.template size<Pos>();
  return X::adopt(core::rope(x.operand(), Pos::name, HeadDim::name, core::read_slice(table.cos, 0, first, n),
                             core::read_slice(table.sin, 0, first, n)));
}

}  // namespace bora::nn
