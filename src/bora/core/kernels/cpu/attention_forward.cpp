// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/kernels/cpu/attention_plan.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/attention_forward.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

/// Buffers of one task.
struct ForwardWork {
  Interval keys;   // packed ones
  float *k, *v;    // panels, rows
  float *q, *out;  // one block's panels; [kRowBlock, padded_dim]
  float* scores;   // [kTileRows, kScoreStride]
  RowState state[kRowBlock];
};

/// One register tile of rows against one block of keys.
inline void forward_tile(const AttentionCall& call, const AttentionTask& task, Interval rows, i64 block_begin,
                         Interval keys, ForwardWork& w) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim(), count = rows.end - rows.begin;
  const i64 first = w.keys.begin + (keys.begin - w.keys.begin) / kTileColumns * kTileColumns;
  const i64 n = up_to_columns(keys.end - first), at = rows.begin - block_begin;
  const float* k = w.k + (first - w.keys.begin) * dim;
  tile_row<true, false>(count, n, dim, w.q + at * dim, kTileRows, k, kTileColumns, kTileColumns * dim,
                        w.scores, kScoreStride);
  float* out = w.out + at * wide;
  for (i64 r = 0; r < count; ++r) {
    float* scores = w.scores + r * kScoreStride;
    if (call.rule.soft_cap > 0) cap_scores(n, call.rule.soft_cap, scores);
    const i64 row = rows.begin + r;
    if (call.rule.slopes) add_distances(n, call.slope(task.head, row), first - call.position(row), scores);
    mask_row(call, task, row, first, n, kLowest, scores);
    const float keep = soften(n, scores, w.state[at + r]);
    if (keep != 1.0F) scale_row(wide, keep, out + r * wide);
  }
  tile_row<false, true>(count, wide, n, w.scores, kScoreStride, w.v + (first - w.keys.begin) * wide, wide,
                        kTileColumns, out, wide);
}

inline void write_rows(const AttentionCall& call, const AttentionTask& task, Interval rows, ForwardWork& w) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  for (i64 r = rows.begin; r < rows.end; ++r) {
    const RowState& s = w.state[r - rows.begin];
    const bool blind = s.total == 0;  // not a test of the maximum, which would hide a NaN
    const float by = blind ? 0.0F : 1 / s.total;
    float* to = call.at(call.out, task.batch, task.head, r);
    const float* from = w.out + (r - rows.begin) * wide;
    for (i64 j = 0; j < dim; ++j) to[j] = from[j] * by;
    *call.row_lse(task.batch, task.head, r) =
        blind ? kLowest
              : static_cast<float>(static_cast<double>(s.most) + std::log(static_cast<double>(s.total)));
  }
}

/// Takes up rows where write_rows left them. Divided by their sums, they count as one exponential at their
/// log-sum.
inline void read_rows(const AttentionCall& call, const AttentionTask& task, Interval rows, ForwardWork& w) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  for (i64 r = rows.begin; r < rows.end; ++r) {
    const float lse = *call.row_lse(task.batch, task.head, r);
    w.state[r - rows.begin] = {lse, lse == kLowest ? 0.0F : 1.0F};
    pack_row(dim, call.at(call.out, task.batch, task.head, r), 1.0F, w.out + (r - rows.begin) * wide, wide);
  }
}

inline void forward_block(const AttentionCall& call, const AttentionTask& task, Interval rows,
                          ForwardWork& w) {
  const Interval seen = call.keys_of(task.batch, rows);
  if (call.joins && seen.empty()) return;
  pack_rows(call, call.q, task, rows, call.rule.scale, w.q);
  if (call.joins) {
    read_rows(call, task, rows, w);
  } else {
    std::fill(w.out, w.out + (rows.end - rows.begin) * call.padded_dim(), 0.0F);
    std::fill(w.state, w.state + kRowBlock, RowState());
  }
  if (!seen.empty()) {
    const i64 start = w.keys.begin + (seen.begin - w.keys.begin) / kTileColumns * kTileColumns;
    for (i64 j = start; j < seen.end; j += kKeyBlock) {
      for (i64 r = rows.begin; r < rows.end; r += kTileRows) {
        const Interval tile_rows{r, std::min<i64>(r + kTileRows, rows.end)};
        const Interval all = call.keys_of(task.batch, tile_rows);
        const Interval keys{std::max(all.begin, j), std::min(all.end, j + kKeyBlock)};
        if (!keys.empty()) forward_tile(call, task, tile_rows, rows.begin, keys, w);
      }
    }
  }
  write_rows(call, task, rows, w);
}

void forward_task(const AttentionCall& call, const AttentionTask& task) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  ForwardWork w;
  w.keys = part_keys(call, task);
  const i64 n = up_to_columns(w.keys.end - w.keys.begin);
  Pieces packed(scratch(Scratch::packed, n * (dim + wide) + 64));
  w.k = packed.take(n * dim);
  w.v = packed.take(n * wide);
  Pieces pieces(scratch(Scratch::tile, kRowBlock * (dim + wide) + kTileRows * kScoreStride + 64));
  w.q = pieces.take(kRowBlock * dim);
  w.out = pieces.take(kRowBlock * wide);
  w.scores = pieces.take(kTileRows * kScoreStride);
  pack_keys(call, call.k, task, w.keys, w.k);
  copy_keys(call, call.v, task, w.keys, w.v);
  for (i64 i = task.part; i < call.blocks(); i += call.parts) {
    forward_block(call, task, call.block(i), w);
    look_between_chunks();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(forward_task);

void attention_forward(const AttentionShape& shape, const AttentionRule& rule, HeadsRef<const float> q,
                       HeadsRef<const float> k, HeadsRef<const float> v, HeadsRef<float> out, float* lse,
                       bool joins) {
  AttentionCall call{shape, rule, q, k, v, out, lse};
  call.joins = joins;
  const std::int64_t heads = shape.batch * shape.kv_heads;
  if (heads == 0 || call.rows() == 0) return;
  // Each part packs its own keys: worth it only while there are few heads, and at least two blocks for each
  // part.
  call.parts = std::clamp<std::int64_t>(32 / heads, 1, std::max<std::int64_t>(1, call.blocks() / 2));
  for_chunks(heads * call.parts, 1, [&](std::int64_t i, std::int64_t) {
    const std::int64_t head = i / call.parts;
    const AttentionTask task{head / shape.kv_heads, head % shape.kv_heads, i % call.parts};
    HWY_DYNAMIC_DISPATCH(forward_task)(call, task);
  });
}

}  // namespace bora::kernels
#endif
