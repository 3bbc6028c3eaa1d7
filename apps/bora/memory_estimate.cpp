// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "memory_estimate.h"

#include <cmath>

namespace bora::app {

SizeEstimate estimate_sizes(const ModelConfig& config, std::int64_t vocab, std::int64_t batch,
                            std::int64_t lanes) {
  auto s = config.shape(vocab);
  SizeEstimate out;
  out.parameters = config.parameter_count(vocab);
  out.parameter_bytes = 4.0 * static_cast<double>(out.parameters);
  out.gradient_bytes = out.parameter_bytes * (1 + std::log2(static_cast<double>(lanes)));
  out.optimizer_bytes = 2 * out.parameter_bytes;
  // Kept for the backward pass, per token and layer: inputs of two norms and their outputs, q, k, v and the
  // attention's output, the MLP's inner values; and the head's chunk of logits once.
  double tokens = static_cast<double>(batch / lanes * s.seq_len);
  double attention = static_cast<double>((2 * s.heads + 2 * s.kv_heads) * s.head_dim);
  double inner = static_cast<double>(s.mlp) * (s.gated_mlp ? 3 : 2);
  double per_layer = 5.0 * static_cast<double>(s.hidden) + attention + inner;
  out.activation_bytes = 4 * (tokens * per_layer * static_cast<double>(s.layers) +
                              std::min(tokens, 1024.0) * static_cast<double>(vocab));
  return out;
}

}  // namespace bora::app
