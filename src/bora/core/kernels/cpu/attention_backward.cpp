// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/kernels/cpu/attention_plan.h"
#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/attention_backward.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

/// Buffers of one task. Panels are a product's left or right side, rows its right side.
struct BackwardWork {
  Interval keys;
  float *k_panels, *v_panels, *k_rows, *dk, *dv;            // of all keys
  float *q_panels, *dout_panels, *q_rows, *dout_rows, *dq;  // of one block of rows
  float *p, *ds;                                            // [kRowBlock, kScoreStride]
  float delta[kRowBlock];
};

/// Rows of a block times `by`, padded.
inline void copy_rows(const AttentionCall& call, const HeadsRef<const float>& x, const AttentionTask& task,
                      Interval rows, float by, float* out) {
  const i64 wide = call.padded_dim();
  for (i64 r = rows.begin; r < rows.end; ++r, out += wide) {
    pack_row(call.shape.head_dim, call.at(x, task.batch, task.head, r), by, out, wide);
  }
}

HWY_INLINE float dot(i64 n, const float* a, const float* b) {
  const Lane8 d;
  auto sum = hn::Zero(d);
  i64 j = 0;
  for (; j + lanes(d) <= n; j += lanes(d)) sum = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), sum);
  if (j < n) sum = hn::MulAdd(load_part(d, a + j, n - j), load_part(d, b + j, n - j), sum);
  return sum_lanes(d, sum);
}

/// p: scores -> probabilities. ds: d(out·v) -> gradient of the uncapped scores. `slope`, `first`: as in
/// add_distances.
HWY_INLINE void score_gradient(i64 n, float lse, float delta, float cap, float slope, i64 first, float* p,
                               float* ds) {
  const Lane8 d;
  const auto l = hn::Set(d, lse), mean = hn::Set(d, delta);
  const auto by = hn::Set(d, cap), over = hn::Set(d, cap > 0 ? 1 / cap : 0.0F), one = hn::Set(d, 1.0F);
  for (i64 j = 0; j < n; j += lanes(d)) {
    auto s = hn::LoadU(d, p + j), g = hn::Sub(hn::LoadU(d, ds + j), mean);
    if (cap > 0) {
      const auto t = tanh(d, hn::Mul(s, over));
      s = hn::Mul(t, by);
      g = hn::Mul(g, hn::NegMulAdd(t, t, one));
    }
    if (slope != 0) s = hn::MulAdd(hn::Set(d, slope), hn::Iota(d, static_cast<float>(first + j)), s);
    const auto e = exp(d, hn::Sub(s, l));
    hn::StoreU(e, d, p + j);
    hn::StoreU(hn::Mul(e, g), d, ds + j);
  }
}

/// p and ds of one register tile of rows for the columns of `keys`, zeros elsewhere in `block`; both are
/// whole panels.
inline void score_tile(const AttentionCall& call, const AttentionTask& task, Interval rows, i64 at,
                       Interval block, Interval keys, BackwardWork& w) {
  const i64 dim = call.shape.head_dim, count = rows.end - rows.begin;
  float *p = w.p + at * kScoreStride, *ds = w.ds + at * kScoreStride;
  const i64 skip = keys.empty() ? 0 : keys.begin - block.begin, n = keys.empty() ? 0 : keys.end - keys.begin;
  if (n > 0) {
    const i64 panel = (keys.begin - w.keys.begin) * dim;
    tile_row<true, false>(count, n, dim, w.q_panels + at * dim, kTileRows, w.k_panels + panel, kTileColumns,
                          kTileColumns * dim, p + skip, kScoreStride);
    tile_row<true, false>(count, n, dim, w.dout_panels + at * dim, kTileRows, w.v_panels + panel,
                          kTileColumns, kTileColumns * dim, ds + skip, kScoreStride);
  }
  const i64 width = block.end - block.begin;
  for (i64 r = 0; r < count; ++r, p += kScoreStride, ds += kScoreStride) {
    const i64 row = rows.begin + r;
    const float lse = *call.row_lse(task.batch, task.head, row);
    for (float* x : {p, ds}) {
      std::fill(x, x + skip, 0.0F);
      std::fill(x + skip + n, x + width, 0.0F);
    }
    if (n == 0) continue;
    if (lse == -std::numeric_limits<float>::infinity()) {
      std::fill(p + skip, p + skip + n, 0.0F);
      std::fill(ds + skip, ds + skip + n, 0.0F);
      continue;
    }
    score_gradient(n, lse, w.delta[at + r], call.rule.soft_cap, call.slope(task.head, row),
                   keys.begin - call.position(row), p + skip, ds + skip);
    mask_row(call, task, row, keys.begin, n, 0.0F, p + skip);
    mask_row(call, task, row, keys.begin, n, 0.0F, ds + skip);
  }
}

/// Tile's keys within a block of keys, widened to whole panels.
inline Interval tile_keys(const AttentionCall& call, const AttentionTask& task, Interval rows, Interval block,
                          i64 origin) {
  const Interval all = call.keys_of(task.batch, rows);
  const Interval keys{std::max(all.begin, block.begin), std::min(all.end, block.end)};
  if (keys.empty()) return {0, 0};
  const i64 begin = origin + (keys.begin - origin) / kTileColumns * kTileColumns;
  return {begin, begin + up_to_columns(keys.end - begin)};
}

/// One block of rows against one block of keys (whole panels).
inline void backward_block_pair(const AttentionCall& call, const AttentionTask& task, Interval rows,
                                Interval block, BackwardWork& w) {
  const i64 wide = call.padded_dim(), origin = block.begin - w.keys.begin;
  Interval tiles[kRowBlock / kTileRows + 1];
  for (i64 r = rows.begin, t = 0; r < rows.end; r += kTileRows, ++t) {
    const Interval part{r, std::min<i64>(r + kTileRows, rows.end)};
    const i64 at = r - rows.begin;
    const Interval keys = tiles[t] = tile_keys(call, task, part, block, w.keys.begin);
    score_tile(call, task, part, at, block, keys, w);
    if (keys.empty()) continue;
    tile_row<false, true>(part.end - part.begin, wide, keys.end - keys.begin,
                          w.ds + at * kScoreStride + (keys.begin - block.begin), kScoreStride,
                          w.k_rows + (keys.begin - w.keys.begin) * wide, wide, kTileColumns, w.dq + at * wide,
                          wide);
  }
  const i64 count = rows.end - rows.begin;
  for (i64 j = block.begin; j < block.end; j += kTileRows) {
    const i64 n = std::min<i64>(kTileRows, block.end - j), column = j - block.begin;
    i64 begin = 0, end = count;  // rows of tiles that see these keys
    const auto blind = [&](i64 r) {
      return tiles[r / kTileRows].end <= j || tiles[r / kTileRows].begin >= j + n;
    };
    while (begin < end && blind(begin)) begin += kTileRows;
    while (end > begin && blind((end - 1) / kTileRows * kTileRows)) end = (end - 1) / kTileRows * kTileRows;
    if (begin >= end) continue;
    const i64 from = begin * kScoreStride + column, to = (origin + column) * wide;
    tile_row<true, true>(n, wide, end - begin, w.p + from, kScoreStride, w.dout_rows + begin * wide, wide,
                         kTileColumns, w.dv + to, wide);
    tile_row<true, true>(n, wide, end - begin, w.ds + from, kScoreStride, w.q_rows + begin * wide, wide,
                         kTileColumns, w.dk + to, wide);
  }
}

inline void backward_block(const AttentionCall& call, const AttentionTask& task, Interval rows,
                           BackwardWork& w) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  pack_rows(call, call.q, task, rows, call.rule.scale, w.q_panels);
  pack_rows(call, call.dout, task, rows, 1.0F, w.dout_panels);
  copy_rows(call, call.q, task, rows, call.rule.scale, w.q_rows);
  copy_rows(call, call.dout, task, rows, 1.0F, w.dout_rows);
  std::fill(w.dq, w.dq + (rows.end - rows.begin) * wide, 0.0F);
  for (i64 r = rows.begin; r < rows.end; ++r) {
    w.delta[r - rows.begin] = dot(dim, call.at(call.dout, task.batch, task.head, r),
                                  call.at(call.saved_out, task.batch, task.head, r));
  }
  const Interval seen = call.keys_of(task.batch, rows);
  if (!seen.empty()) {
    const i64 start = w.keys.begin + (seen.begin - w.keys.begin) / kTileColumns * kTileColumns;
    for (i64 j = start; j < seen.end; j += kKeyBlock) {
      const i64 n = std::min(kKeyBlock, up_to_columns(seen.end - j));
      backward_block_pair(call, task, rows, {j, j + n}, w);
    }
  }
  for (i64 r = rows.begin; r < rows.end; ++r) {
    float* to = call.at(call.dq, task.batch, task.head, r);
    const float* from = w.dq + (r - rows.begin) * wide;
    if (call.joins) {
      for (i64 j = 0; j < dim; ++j) to[j] += from[j] * call.rule.scale;
    } else {
      for (i64 j = 0; j < dim; ++j) to[j] = from[j] * call.rule.scale;
    }
  }
}

void backward_task(const AttentionCall& call, const AttentionTask& task) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  BackwardWork w;
  w.keys = part_keys(call, task);
  const i64 n = up_to_columns(w.keys.end - w.keys.begin);
  Pieces packed(scratch(Scratch::packed, n * (2 * dim + 3 * wide) + 128));
  w.k_panels = packed.take(n * dim);
  w.v_panels = packed.take(n * dim);
  w.k_rows = packed.take(n * wide);
  w.dk = packed.take(n * wide);
  w.dv = packed.take(n * wide);
  Pieces pieces(scratch(Scratch::tile, kRowBlock * (2 * dim + 3 * wide + 2 * kScoreStride) + 128));
  w.q_panels = pieces.take(kRowBlock * dim);
  w.dout_panels = pieces.take(kRowBlock * dim);
  w.q_rows = pieces.take(kRowBlock * wide);
  w.dout_rows = pieces.take(kRowBlock * wide);
  w.dq = pieces.take(kRowBlock * wide);
  w.p = pieces.take(kRowBlock * kScoreStride);
  w.ds = pieces.take(kRowBlock * kScoreStride);
  pack_keys(call, call.k, task, w.keys, w.k_panels);
  pack_keys(call, call.v, task, w.keys, w.v_panels);
  copy_keys(call, call.k, task, w.keys, w.k_rows);
  std::fill(w.dk, w.dk + n * wide, 0.0F);
  std::fill(w.dv, w.dv + n * wide, 0.0F);
  for (i64 i = task.part; i < call.blocks(); i += call.parts) {
    backward_block(call, task, call.block(i), w);
    look_between_chunks();
  }

  const i64 keys = call.shape.keys, count = w.keys.end - w.keys.begin;
  float* partial = call.partial +
                   ((task.batch * call.shape.kv_heads + task.head) * call.parts + task.part) * 2 * keys * dim;
  const auto gather = [&](const float* from, const HeadsRef<float>& to, float* shared) {
    for (i64 j = 0; j < keys; ++j) {
      float* row = call.parts == 1 ? call.key_at(to, task.batch, task.head, j) : shared + j * dim;
      const bool seen = j >= w.keys.begin && j < w.keys.begin + count;
      if (seen) std::copy_n(from + (j - w.keys.begin) * wide, dim, row);
      if (!seen) std::fill_n(row, dim, 0.0F);
    }
  };
  gather(w.dk, call.dk, partial);
  gather(w.dv, call.dv, partial + keys * dim);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(backward_task);

namespace {

/// Adds the parts' dk and dv of one (batch, kv_head), in order of parts.
void sum_parts(const AttentionCall& call, std::int64_t batch, std::int64_t head) {
  const std::int64_t keys = call.shape.keys, dim = call.shape.head_dim, part = 2 * keys * dim;
  const float* partial = call.partial + (batch * call.shape.kv_heads + head) * call.parts * part;
  for (std::int64_t which = 0; which < 2; ++which) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const float* from = partial + (which * keys + j) * dim;
      float* to = call.key_at(which == 0 ? call.dk : call.dv, batch, head, j);
      std::copy_n(from, dim, to);
      for (std::int64_t p = 1; p < call.parts; ++p) {
        for (std::int64_t i = 0; i < dim; ++i) to[i] += from[p * part + i];
      }
    }
  }
}

}  // namespace

void attention_backward(const AttentionShape& shape, const AttentionRule& rule, HeadsRef<const float> q,
                        HeadsRef<const float> k, HeadsRef<const float> v, HeadsRef<const float> out,
                        const float* lse, HeadsRef<const float> dout, HeadsRef<float> dq, HeadsRef<float> dk,
                        HeadsRef<float> dv, bool joins) {
  AttentionCall call{shape, rule, q, k, v, {}, const_cast<float*>(lse), out, dout, dq, dk, dv, joins};
  const std::int64_t heads = shape.batch * shape.kv_heads;
  if (heads == 0) return;
  call.parts = std::clamp<std::int64_t>(16 / heads, 1, std::max<std::int64_t>(1, call.blocks() / 4));
  if (call.parts > 1) {
    call.partial = scratch(Scratch::shared, heads * call.parts * 2 * shape.keys * shape.head_dim);
  }
  for_chunks(heads * call.parts, 1, [&](std::int64_t i, std::int64_t) {
    const std::int64_t head = i / call.parts;
    HWY_DYNAMIC_DISPATCH(backward_task)(call, {head / shape.kv_heads, head % shape.kv_heads, i % call.parts});
  });
  if (call.parts == 1) return;
  for_chunks(heads, 1,
             [&](std::int64_t i, std::int64_t) { sum_parts(call, i / shape.kv_heads, i % shape.kv_heads); });
}

}  // namespace bora::kernels
#endif
