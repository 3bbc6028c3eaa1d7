// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

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
  /// f32 [heads...], all axes of q's heads, or empty: after the soft cap, scores get slope · (position of the
  /// key - that of the query) (ALiBi, Press et al. 2022). No gradient.
  Array slopes;
  std::vector<std::string_view> slope_names;  ///< axes of slopes, in order
  /// [heads...], all axes of q's heads, or empty: a score beside those of the keys, whatever the mask, which takes
  /// part in the softmax and has the value 0 (Xiao et al. 2024). Has a gradient.
  Array sinks;
  std::vector<std::string_view> sink_names;  ///< axes of sinks, in order
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
/// Says once, where x is on a device, that its attention is made of plain operations, which keep scores.
void tell_of_plain_attention(const Array& x, std::string_view why);

}  // namespace bora::core
