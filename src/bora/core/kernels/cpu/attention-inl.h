// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Packing and scores that the forward and the backward pass of attention share.
#if defined(BORA_CORE_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BORA_CORE_KERNELS_ATTENTION_INL_H_
#undef BORA_CORE_KERNELS_ATTENTION_INL_H_
#else
#define BORA_CORE_KERNELS_ATTENTION_INL_H_
#endif

#include <cmath>
#include <limits>

#include "bora/core/kernels/cpu/attention_plan.h"
#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

/// Cuts consecutive pieces from one scratch buffer; every piece starts on a cache line.
class Pieces {
 public:
  explicit Pieces(float* at) : at_(at) {}
  static i64 padded(i64 n) { return (n + 15) / 16 * 16; }
  float* take(i64 n) {
    float* piece = at_;
    at_ += padded(n);
    return piece;
  }

 private:
  float* at_;
};

HWY_INLINE i64 up_to_columns(i64 n) { return (n + kTileColumns - 1) / kTileColumns * kTileColumns; }

/// Keys of a part's blocks, widened to whole panels.
inline Interval part_keys(const AttentionCall& call, const AttentionTask& task) {
  Interval all{call.shape.keys, 0};
  for (i64 i = task.part; i < call.blocks(); i += call.parts) {
    const Interval one = call.keys_of(task.batch, call.block(i));
    if (!one.empty()) all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
  }
  if (all.empty()) return {0, 0};
  return {all.begin / kTileColumns * kTileColumns, all.end};
}

/// Keys as columns: panels [head_dim, kTileColumns]; the last panel is padded with zeros.
inline void pack_keys(const AttentionCall& call, const HeadsRef<const float>& x, const AttentionTask& task,
                      Interval keys, float* panels) {
  const i64 dim = call.shape.head_dim;
  for (i64 j = keys.begin; j < keys.end; j += kTileColumns, panels += kTileColumns * dim) {
    const i64 n = std::min(kTileColumns, keys.end - j);
    pack_transposed(n, dim, call.key_at(x, task.batch, task.head, j), x.position, 1.0F, panels, kTileColumns);
  }
}

/// Keys as rows [keys, padded_dim]; rows up to a whole panel are zeros.
inline void copy_keys(const AttentionCall& call, const HeadsRef<const float>& x, const AttentionTask& task,
                      Interval keys, float* rows) {
  const i64 dim = call.padded_dim(), n = keys.end - keys.begin;
  for (i64 j = 0; j < n; ++j) {
    pack_row(call.shape.head_dim, call.key_at(x, task.batch, task.head, keys.begin + j), 1.0F, rows + j * dim,
             dim);
  }
  std::fill(rows + n * dim, rows + up_to_columns(n) * dim, 0.0F);
}

/// Query-side rows as panels [head_dim, kTileRows], one for each register tile.
inline void pack_rows(const AttentionCall& call, const HeadsRef<const float>& x, const AttentionTask& task,
                      Interval rows, float by, float* panels) {
  const i64 dim = call.shape.head_dim;
  for (i64 r = rows.begin; r < rows.end; r += kTileRows, panels += kTileRows * dim) {
    const i64 n = std::min<i64>(kTileRows, rows.end - r);
    const float* first = call.at(x, task.batch, task.head, r);
    if (call.spans_groups()) {  // no common stride
      for (i64 i = 0; i < n; ++i) {
        const float* from = call.at(x, task.batch, task.head, r + i);
        for (i64 j = 0; j < dim; ++j) panels[j * kTileRows + i] = from[j] * by;
      }
    } else {
      pack_transposed(n, dim, first, x.position, by, panels, kTileRows);
    }
  }
}

/// scores(x) = cap·tanh(x/cap)
HWY_INLINE void cap_scores(i64 n, float cap, float* scores) {
  const Lane8 d;
  const auto by = hn::Set(d, cap), over = hn::Set(d, 1 / cap);
  for (i64 j = 0; j < n; j += lanes(d)) {
    hn::StoreU(hn::Mul(tanh(d, hn::Mul(hn::LoadU(d, scores + j), over)), by), d, scores + j);
  }
}

/// scores [n] of keys from `first` on, counted from the query: + slope · distance
HWY_INLINE void add_distances(i64 n, float slope, i64 first, float* scores) {
  const Lane8 d;
  const auto by = hn::Set(d, slope);
  for (i64 j = 0; j < n; j += lanes(d))
    hn::StoreU(hn::MulAdd(by, hn::Iota(d, static_cast<float>(first + j)), hn::LoadU(d, scores + j)), d,
               scores + j);
}

/// Writes `value` where a row must not look: outside its keys, or in another segment. scores [n] starts at
/// key `first`.
inline void mask_row(const AttentionCall& call, const AttentionTask& task, i64 row, i64 first, i64 n,
                     float value, float* scores) {
  const Interval keys = call.row_keys(row);
  const i64 begin = std::clamp<i64>(keys.begin - first, 0, n),
            end = std::clamp<i64>(keys.end - first, begin, n);
  std::fill(scores, scores + begin, value);
  std::fill(scores + end, scores + n, value);
  if (!call.rule.key_segments) return;
  const std::int32_t own = call.query_segment(task.batch, row);
  const std::int32_t* segments = call.rule.key_segments + task.batch * call.shape.keys + first;
  for (i64 j = begin; j < end; ++j) scores[j] = segments[j] == own ? scores[j] : value;
}

// ---- softmax, some keys at a time

constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// Running maximum and sum of exponentials of one row (online softmax, Milakov and Gimelshein 2018).
struct RowState {
  float most = kLowest, total = 0;
};

/// Replaces scores [n] by exp(score - new maximum); returns the factor for what was summed before.
HWY_INLINE float soften(i64 n, float* scores, RowState& state) {
  const Lane8 d;
  const i64 width = lanes(d);
  auto a = hn::Set(d, state.most), b = a;
  for (i64 j = 0; j < n; j += 2 * width) {
    a = hn::Max(a, hn::LoadU(d, scores + j));
    b = hn::Max(b, hn::LoadU(d, scores + j + width));
  }
  const float most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  const auto m = hn::Set(d, most == kLowest ? 0.0F : most);
  a = b = hn::Zero(d);
  for (i64 j = 0; j < n; j += 2 * width) {
    const auto e = exp(d, hn::Sub(hn::LoadU(d, scores + j), m));
    const auto f = exp(d, hn::Sub(hn::LoadU(d, scores + j + width), m));
    hn::StoreU(e, d, scores + j);
    hn::StoreU(f, d, scores + j + width);
    a = hn::Add(a, e);
    b = hn::Add(b, f);
  }
  const float keep = state.most == most ? 1.0F : std::exp(state.most - most);
  state.total = state.total * keep + sum_lanes(d, hn::Add(a, b));
  state.most = most;
  return keep;
}

HWY_INLINE void scale_row(i64 n, float by, float* x) {
  const Lane8 d;
  for (i64 j = 0; j < n; j += lanes(d)) hn::StoreU(hn::Mul(hn::LoadU(d, x + j), hn::Set(d, by)), d, x + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#endif
