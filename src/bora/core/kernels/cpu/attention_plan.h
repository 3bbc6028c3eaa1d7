// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>

#include "bora/core/kernels/cpu/attention.h"

namespace bora::kernels {

// How attention is cut. The rows of one (batch, kv_head) are its queries of all group members, row =
// g·queries + i. They are worked on in blocks of kRowBlock rows against blocks of kKeyBlock keys; several
// blocks make a part, the unit of threading. All of it depends on the shape alone.

inline constexpr std::int64_t kRowBlock = 96;  // both are multiples of every register tile's sides
inline constexpr std::int64_t kKeyBlock = 384;
inline constexpr std::int64_t kScoreStride =
    kKeyBlock + 16;  // a power of two would map rows to the same cache sets

struct Interval {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

/// All operands of one call; the forward pass leaves those of the backward pass null.
struct AttentionCall {
  AttentionShape shape;
  AttentionRule rule;
  HeadsRef<const float> q, k, v;
  HeadsRef<float> out;
  float* lse = nullptr;
  HeadsRef<const float> saved_out{}, dout{};
  HeadsRef<float> dq{}, dk{}, dv{};
  bool joins = false;  ///< results of earlier blocks of keys
  std::int64_t parts = 1;
  float* partial = nullptr;  ///< backward: dk, dv [batch·kv_heads, parts, 2, keys, padded_dim]

  std::int64_t rows() const { return shape.group * shape.queries; }
  std::int64_t padded_dim() const { return (shape.head_dim + 15) / 16 * 16; }
  /// Few queries: a block may span group members, as in decoding. Many: it must not, or it would see too many
  /// keys.
  bool spans_groups() const { return shape.queries < 48; }
  std::int64_t blocks() const {
    if (spans_groups()) return (rows() + kRowBlock - 1) / kRowBlock;
    return shape.group * ((shape.queries + kRowBlock - 1) / kRowBlock);
  }
  Interval block(std::int64_t i) const {
    if (spans_groups()) return {i * kRowBlock, std::min((i + 1) * kRowBlock, rows())};
    const std::int64_t each = (shape.queries + kRowBlock - 1) / kRowBlock;
    const std::int64_t begin = i / each * shape.queries + i % each * kRowBlock;
    return {begin, std::min(begin + kRowBlock, (i / each + 1) * shape.queries)};
  }

  std::int64_t position(std::int64_t row) const { return row % shape.queries + rule.offset; }
  /// What a key's score grows by from one position to the next; 0 without slopes.
  float slope(std::int64_t head, std::int64_t row) const {
    return rule.slopes == nullptr ? 0.0F : rule.slopes[head * shape.group + row / shape.queries];
  }
  /// Keys that causality and window leave to a row.
  Interval row_keys(std::int64_t row) const {
    const std::int64_t position = this->position(row);
    const std::int64_t begin = rule.window > 0 ? std::max<std::int64_t>(0, position + 1 - rule.window) : 0;
    const std::int64_t end = rule.causal ? std::clamp<std::int64_t>(position + 1, 0, shape.keys) : shape.keys;
    return {begin, end};
  }

  /// Smallest interval that holds the keys of all these rows; empty if they see none.
  Interval keys_of(std::int64_t batch, Interval rows) const {
    Interval all{shape.keys, 0};
    std::int32_t lowest = INT32_MAX, highest = INT32_MIN;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const Interval one = row_keys(r);
      if (one.empty()) continue;
      all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
      if (!rule.query_segments) continue;
      const std::int32_t segment = query_segment(batch, r);
      lowest = std::min(lowest, segment);
      highest = std::max(highest, segment);
    }
    if (!rule.key_segments) return all;
    const std::int32_t* segments = rule.key_segments + batch * shape.keys;
    const auto outside = [&](std::int64_t key) { return segments[key] < lowest || segments[key] > highest; };
    while (!all.empty() && outside(all.begin)) ++all.begin;
    while (!all.empty() && outside(all.end - 1)) --all.end;
    return all;
  }
  std::int32_t query_segment(std::int64_t batch, std::int64_t row) const {
    return rule.query_segments[batch * shape.queries + row % shape.queries];
  }

  template <class T>
  T* at(const HeadsRef<T>& x, std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return x.data + batch * x.batch + head * x.kv_head + row / shape.queries * x.group +
           row % shape.queries * x.position;
  }
  template <class T>
  T* key_at(const HeadsRef<T>& x, std::int64_t batch, std::int64_t head, std::int64_t key) const {
    return x.data + batch * x.batch + head * x.kv_head + key * x.position;
  }
  float* row_lse(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return lse + (batch * shape.kv_heads + head) * rows() + row;
  }
};

/// One unit of work: every parts-th block of one (batch, kv_head), so that causal blocks, short and long,
/// mix.
struct AttentionTask {
  std::int64_t batch, head, part;
};

}  // namespace bora::kernels
