// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>

namespace bora::nn {

/// Sizes that tools and estimates need.
struct ModelShape {
  std::string type;  ///< "llama"
  std::int64_t layers, hidden, heads, kv_heads, head_dim, mlp, vocab, seq_len;
  bool gated_mlp, tied_head;
  bool learned_positions = false;  ///< a parameter for each position
  /// > 0: a sequence of more positions is computed otherwise from its first one on (longrope), so that one that
  /// grows beyond them is read again from its beginning.
  std::int64_t short_positions = 0;
  /// Of a model of speech, whose layers are those of its decoder: the features that it hears, exactly so many
  /// mel bins and frames. 0: it reads text alone.
  std::int64_t mel_bins = 0, frames = 0;
  std::int64_t expert_visits = 0;  ///< that a position makes in all layers together, of a mixture of experts
  /// Values that a training pass keeps for each position beside those of its layers, about.
  double values_outside_layers = 0;
  bool drops_attention = false;  ///< whose scores are among these
  /// > 0: attention with soft caps, sinks or slopes, which keeps its scores on a device as others do in fp32, so many
  /// times as many.
  double scores_on_device = 0;

  bool hears() const { return mel_bins > 0; }
};

}  // namespace bora::nn
