// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention to keys and values that lie in pages, as the tiles of attention read them: nothing is packed or gathered.
#pragma once
#include <cstdint>
#include <span>

#include "bora/core/kernels/cpu/attention.h"

namespace bora::kernels {

/// Positions of a page: page i of a text holds [i·kPagePositions, (i+1)·kPagePositions).
inline constexpr std::int64_t kPagePositions = 64;

/// Floats of a page. Each kv_head has its keys as columns, [head_dim, kPagePositions], and then its values as rows,
/// [kPagePositions, head_dim rounded up to 16].
std::int64_t page_floats(std::int64_t kv_heads, std::int64_t head_dim);

/// One text of a batch: its queries stand at positions [first, first + queries).
struct PagedText {
  std::int64_t first = 0;
  float* const* pages = nullptr;  ///< of all positions to the last query's; null where no query looks
};

/// Puts keys and values [batch, position, kv_head, head_dim] of new positions where they belong.
void write_pages(const AttentionShape& shape, std::span<const PagedText> texts, HeadsRef<const float> k,
                 HeadsRef<const float> v);

/// Causal attention of each text's queries to its pages; shape.keys, the rule's offset and segments do not count.
/// `sinks` [kv_head, group] or null. What a query gets depends on its text up to its position, and on whether it came
/// alone (one query a text); not on the other texts, on the other queries or on threads.
void paged_attention(const AttentionShape& shape, const AttentionRule& rule, std::span<const PagedText> texts,
                     HeadsRef<const float> q, const float* sinks, HeadsRef<float> out);

}  // namespace bora::kernels
