// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Sizes. Query head h of kv_head j is j·group + g: grouped-query attention is the split of heads into these
/// two.
struct AttentionShape {
  std::int64_t batch, queries, keys, kv_heads, group, head_dim;
};

/// [batch, position, kv_head, group, head_dim] with strides in elements; head_dim is contiguous. Keys and
/// values have group stride 0.
template <class T>
struct HeadsRef {
  T* data;
  std::int64_t batch, position, kv_head, group;
};

/// Which keys a query may see. Query i stands at key position i + offset.
struct AttentionRule {
  float scale;              ///< scores = scale · q·k
  bool causal = true;       ///< key <= query position
  std::int64_t offset = 0;  ///< keys before the first query (0 for self-attention over one block)
  std::int64_t window = 0;  ///< > 0: the last `window` keys, the query's own included
  float soft_cap = 0;       ///< > 0: scores = cap · tanh(scores / cap), before the mask
  const std::int32_t* query_segments = nullptr;  ///< [batch, queries]; sees only keys of the same segment
  const std::int32_t* key_segments = nullptr;    ///< [batch, keys]
  const float* slopes = nullptr;  ///< [kv_head, group]; capped scores get slope · (key - query position)
};

}  // namespace bora::kernels
