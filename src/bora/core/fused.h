// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

// Layers that have a kernel of their own, forward and backward. On other devices or dtypes they are composed
// of plain ops; the values agree within rounding.

/// x / sqrt(mean(x²) + eps) [· weight] over the axes `over`. `weight` (axes `over`) may be empty.
Array rms_norm(const Operand& x, const Array& weight, Names over, double eps);
/// (x - mean) / sqrt(var + eps) [· weight] [+ bias] over the axes `over`.
Array layer_norm(const Operand& x, const Array& weight, const Array& bias, Names over, double eps);

enum class Gate { silu, gelu, gelu_tanh, quick_gelu, relu };
/// act(gate) · up, elementwise; same axes.
Array gated(Gate activation, const Operand& gate, const Operand& up);

/// Half-split rotary embedding of x along `dim`, by the angles of its place along `position`.
/// cos, sin: [position, half]; 2·half <= size of dim, the rest is passed through. They must cover x's
/// positions.
Array rope(const Operand& x, std::string_view position, std::string_view dim, const Array& cos,
           const Array& sin);

/// Which keys a query may see; the structured mask of nn::AttentionMask in plain values.
struct AttentionRule {
  double scale = 0;  ///< 0: 1/sqrt(head_dim)
  bool causal = true;
  std::int64_t offset = 0;                      ///< position of query 0 among the keys
  std::int64_t window = 0;                      ///< 0: unlimited
  double soft_cap = 0;                          ///< 0: none
  Array query_segments;                         ///< i32 [batch..., position], or empty
  Array key_segments;                           ///< i32 [batch..., key_position]
  std::vector<std::string_view> segment_names;  ///< axes of query_segments, in order; position among them
};
/// Names of the axes of an attention call. Every other axis of q is a batch or head axis: those that k and v
/// have too are matched; those they lack (query heads per group) share the keys.
struct AttentionAxes {
  std::string_view position, key_position, head_dim;
};
/// softmax(scale · q·k) · v without materialising [position, key_position]. Result: the axes of q.
/// q [batch..., position, heads..., head_dim], k and v [batch..., key_position, kv heads..., head_dim].
Array attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes,
                const AttentionRule& rule);

/// Linear head and softmax cross-entropy in chunks of positions: logits of the whole batch never exist.
struct CrossEntropy {
  Array loss;    ///< scalar: sum over positions of weight · (loss + z_loss · lse²)
  Array weight;  ///< scalar: sum of the weights (no gradient)
};
/// hidden [..., embed], head [vocab, embed], targets i32 and weights f32 with the remaining axes of hidden;
/// `chunk` positions at a time, on which bits depend. Errors: InvalidArgument for a target that is outside of
/// the vocabulary; one below 0 may stand where the weight is 0.
CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, double z_loss = 0, std::int64_t chunk = 1024);
/// The same over given logits, per position and unweighted: [...] = lse - logits[target].
Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets);

}  // namespace bora::core
