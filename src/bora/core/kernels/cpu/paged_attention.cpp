// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/paged_attention.h"

#include <vector>

#include "bora/core/kernels/cpu/attention_plan.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/paged_attention.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#ifndef __clang__  // GCC 12 sees an overflow where vectors have one element
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
#include "bora/core/kernels/cpu/attention-inl.h"

#ifndef BORA_CORE_KERNELS_PAGED_ATTENTION_CPP_ONCE
#define BORA_CORE_KERNELS_PAGED_ATTENTION_CPP_ONCE
namespace bora::kernels {

/// Keys of one step of the online softmax, and of one part of a query that comes alone: at whole multiples of them.
constexpr std::int64_t kKeysOfStep = 256, kKeysOfPart = 1024;
static_assert(kKeysOfStep <= kKeyBlock && kKeysOfStep % kPagePositions == 0 &&
              kKeysOfPart % kKeysOfStep == 0);

/// One text: batch 0 of `call`, whose keys are all positions up to its last query's.
struct PagedCall {
  AttentionCall call;
  float* const* pages;
  const float* sinks;
  std::int64_t head_floats;

  const float* keys_at(std::int64_t head, std::int64_t key) const {
    return pages[key / kPagePositions] + head * head_floats;
  }
  const float* values_at(std::int64_t head, std::int64_t key) const {
    return keys_at(head, key) + kPagePositions * call.shape.head_dim;
  }
};

/// What a part of the keys makes of rows: for each its greatest score and its sum, then [rows, padded_dim].
struct PartialRows {
  float *most, *total, *out;
};

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

static_assert(kPagePositions % kTileColumns == 0);

void write_text(const AttentionShape& shape, const PagedText& text, i64 head, const float* k, i64 k_stride,
                const float* v, i64 v_stride) {
  const i64 dim = shape.head_dim, wide = (dim + 15) / 16 * 16, end = text.first + shape.queries;
  const i64 head_floats = kPagePositions * (dim + wide);
  for (i64 at = text.first; at < end;) {
    float* const page = text.pages[at / kPagePositions] + head * head_floats;
    const i64 place = at % kPagePositions, n = std::min(end - at, kPagePositions - place);
    if (place == 0) {
      pack_transposed(n, dim, k, k_stride, 1.0F, page, kPagePositions);
    } else {
      for (i64 i = 0; i < n; ++i)
        for (i64 j = 0; j < dim; ++j) page[j * kPagePositions + place + i] = k[i * k_stride + j];
    }
    float* const values = page + kPagePositions * dim;
    for (i64 i = 0; i < n; ++i) pack_row(dim, v + i * v_stride, 1.0F, values + (place + i) * wide, wide);
    at += n;
    k += n * k_stride;
    v += n * v_stride;
  }
}

/// Buffers of one block of rows.
struct PagedWork {
  float *q, *out, *scores;  // panels; [kRowBlock, padded_dim]; [kTileRows, kScoreStride]
  RowState state[kRowBlock];
};

/// One register tile of rows against the keys of one step, `keys` those that any of the rows sees.
inline void paged_tile(const PagedCall& p, i64 head, Interval rows, i64 block_begin, Interval keys,
                       PagedWork& w) {
  const AttentionCall& call = p.call;
  const i64 dim = call.shape.head_dim, wide = call.padded_dim(), count = rows.end - rows.begin;
  const i64 first = keys.begin / kPagePositions * kPagePositions, at = rows.begin - block_begin;
  i64 n = 0;
  for (i64 j = first; j < keys.end; j += kPagePositions, n += kPagePositions) {
    tile_row<true, false>(count, kPagePositions, dim, w.q + at * dim, kTileRows, p.keys_at(head, j),
                          kPagePositions, kTileColumns, w.scores + n, kScoreStride);
  }
  float* const out = w.out + at * wide;
  for (i64 r = 0; r < count; ++r) {
    float* const scores = w.scores + r * kScoreStride;
    if (call.rule.soft_cap > 0) cap_scores(n, call.rule.soft_cap, scores);
    const i64 row = rows.begin + r;
    if (call.rule.slopes) add_distances(n, call.slope(head, row), first - call.position(row), scores);
    mask_row(call, {0, head, 0}, row, first, n, kLowest, scores);
    const float keep = soften(n, scores, w.state[at + r]);
    if (keep != 1.0F) scale_row(wide, keep, out + r * wide);
  }
  for (i64 j = first; j < keys.end; j += kPagePositions) {
    tile_row<false, true>(count, wide, std::min(kPagePositions, keys.end - j), w.scores + (j - first),
                          kScoreStride, p.values_at(head, j), wide, kTileColumns, out, wide);
  }
}

/// A block of rows of a head against the keys in `part`.
inline void paged_block(const PagedCall& p, i64 head, Interval rows, Interval part, PagedWork& w) {
  const AttentionCall& call = p.call;
  const i64 count = rows.end - rows.begin;
  pack_rows(call, call.q, {0, head, 0}, rows, call.rule.scale, w.q);
  std::fill(w.out, w.out + count * call.padded_dim(), 0.0F);
  for (i64 r = 0; r < count; ++r) {
    w.state[r] = RowState();
    // A sink counts as one exponential at its score, with the first keys that there are.
    const i64 row = rows.begin + r;
    const Interval seen = call.row_keys(row);
    if (p.sinks != nullptr && part.begin <= seen.begin && seen.begin < part.end)
      w.state[r] = {p.sinks[head * call.shape.group + row / call.shape.queries], 1.0F};
  }
  const Interval seen = call.keys_of(0, rows);
  const i64 begin = std::max(seen.begin, part.begin), end = std::min(seen.end, part.end);
  for (i64 j = begin / kKeysOfStep * kKeysOfStep; j < end; j += kKeysOfStep) {
    for (i64 r = rows.begin; r < rows.end; r += kTileRows) {
      const Interval tile_rows{r, std::min<i64>(r + kTileRows, rows.end)};
      const Interval all = call.keys_of(0, tile_rows);
      const Interval keys{std::max({all.begin, part.begin, j}),
                          std::min({all.end, part.end, j + kKeysOfStep})};
      if (!keys.empty()) paged_tile(p, head, tile_rows, rows.begin, keys, w);
    }
  }
}

inline void begin_work(const AttentionCall& call, PagedWork& w) {
  const i64 dim = call.shape.head_dim, wide = call.padded_dim();
  Pieces pieces(scratch(Scratch::tile, kRowBlock * (dim + wide) + kTileRows * kScoreStride + 64));
  w.q = pieces.take(kRowBlock * dim);
  w.out = pieces.take(kRowBlock * wide);
  w.scores = pieces.take(kTileRows * kScoreStride);
}

/// One block of rows against all that they see.
void whole_block(const PagedCall& p, i64 head, Interval rows) {
  PagedWork w;
  begin_work(p.call, w);
  paged_block(p, head, rows, {0, p.call.shape.keys}, w);
  const i64 dim = p.call.shape.head_dim, wide = p.call.padded_dim();
  for (i64 r = rows.begin; r < rows.end; ++r) {
    const float total = w.state[r - rows.begin].total, by = total == 0 ? 0.0F : 1 / total;
    float* const to = p.call.at(p.call.out, 0, head, r);
    for (i64 j = 0; j < dim; ++j) to[j] = w.out[(r - rows.begin) * wide + j] * by;
  }
}

/// The rows of a head against the keys of one part.
void part_of_block(const PagedCall& p, i64 head, Interval rows, i64 part, PartialRows to) {
  PagedWork w;
  begin_work(p.call, w);
  paged_block(p, head, rows, {part * kKeysOfPart, (part + 1) * kKeysOfPart}, w);
  const i64 count = rows.end - rows.begin, wide = p.call.padded_dim();
  for (i64 r = 0; r < count; ++r) {
    to.most[r] = w.state[r].most;
    to.total[r] = w.state[r].total;
  }
  std::copy_n(w.out, count * wide, to.out);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(write_text);
HWY_EXPORT(whole_block);
HWY_EXPORT(part_of_block);

using i64 = std::int64_t;

constexpr float kNothing = -std::numeric_limits<float>::infinity();

PagedCall call_of(const AttentionShape& shape, const AttentionRule& rule, const PagedText& text, i64 batch,
                  const HeadsRef<const float>& q, const float* sinks, const HeadsRef<float>& out) {
  PagedCall p{{shape, rule, q, {}, {}, out}, text.pages, sinks, page_floats(1, shape.head_dim)};
  p.call.shape.batch = 1;
  p.call.shape.keys = text.first + shape.queries;
  p.call.rule.offset = text.first;
  p.call.rule.query_segments = p.call.rule.key_segments = nullptr;
  p.call.q.data += batch * q.batch;
  p.call.out.data += batch * out.batch;
  return p;
}

/// The parts of one row of a head, first to last, into its result.
void join_parts(const AttentionCall& call, i64 head, i64 row, i64 parts, const PartialRows& first,
                i64 stride) {
  const i64 wide = call.padded_dim(), dim = call.shape.head_dim;
  float most = kNothing, total = 0;
  for (i64 i = 0; i < parts; ++i) most = std::max(most, first.most[i * stride + row]);
  float* const to = call.at(call.out, 0, head, row);
  std::fill_n(to, dim, 0.0F);
  for (i64 i = 0; i < parts; ++i) {
    const float score = first.most[i * stride + row], by = score == kNothing ? 0.0F : std::exp(score - most);
    total += first.total[i * stride + row] * by;
    const float* const from = first.out + i * stride + row * wide;
    for (i64 j = 0; j < dim; ++j) to[j] += from[j] * by;
  }
  const float by = total == 0 ? 0.0F : 1 / total;
  for (i64 j = 0; j < dim; ++j) to[j] *= by;
}

/// Texts of one query each: their keys are many where their rows are few.
void attention_of_single_queries(std::span<const PagedCall> calls) {
  const AttentionShape& shape = calls.front().call.shape;
  struct Task {
    i64 text, head, part, slot;
  };
  std::vector<Task> tasks;
  std::vector<i64> first_part(calls.size()), parts(calls.size()), slot(calls.size());
  i64 slots = 0;
  for (std::size_t t = 0; t < calls.size(); ++t) {
    const Interval seen = calls[t].call.row_keys(0);
    first_part[t] = seen.begin / kKeysOfPart;
    parts[t] = (seen.end - 1) / kKeysOfPart + 1 - first_part[t];
    slot[t] = slots;
    for (i64 head = 0; head < shape.kv_heads; ++head)
      for (i64 i = 0; i < parts[t]; ++i)
        tasks.push_back({static_cast<i64>(t), head, first_part[t] + i, slots++});
  }
  const i64 group = shape.group, wide = calls.front().call.padded_dim();
  const i64 stride = (2 * group + 15) / 16 * 16 + group * wide;
  std::vector<float> partial(static_cast<std::size_t>(slots * stride + 16));
  const auto at = [&](i64 s) {
    float* const begin = partial.data() + s * stride;
    return PartialRows{begin, begin + group, begin + (2 * group + 15) / 16 * 16};
  };
  for_chunks(slots, 1, [&](i64 i, i64) {
    const Task& task = tasks[static_cast<std::size_t>(i)];
    const PartialRows to = at(task.slot);
    for (i64 r = 0; r < group; r += kRowBlock) {
      HWY_DYNAMIC_DISPATCH(part_of_block)
      (calls[static_cast<std::size_t>(task.text)], task.head, {r, std::min(r + kRowBlock, group)}, task.part,
       {to.most + r, to.total + r, to.out + r * wide});
    }
  });
  for (std::size_t t = 0; t < calls.size(); ++t) {
    for (i64 head = 0; head < shape.kv_heads; ++head)
      for (i64 row = 0; row < group; ++row)
        join_parts(calls[t].call, head, row, parts[t], at(slot[t] + head * parts[t]), stride);
  }
}

}  // namespace

i64 page_floats(i64 kv_heads, i64 head_dim) {
  return kv_heads * kPagePositions * (head_dim + (head_dim + 15) / 16 * 16);
}

void write_pages(const AttentionShape& shape, std::span<const PagedText> texts, HeadsRef<const float> k,
                 HeadsRef<const float> v) {
  const i64 chunk = shape.queries > 1 ? 1 : 16;  // tokens of their own are a few lines each
  for_chunks(std::ssize(texts) * shape.kv_heads, chunk, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const i64 t = i / shape.kv_heads, head = i % shape.kv_heads;
      HWY_DYNAMIC_DISPATCH(write_text)
      (shape, texts[static_cast<std::size_t>(t)], head, k.data + t * k.batch + head * k.kv_head, k.position,
       v.data + t * v.batch + head * v.kv_head, v.position);
    }
  });
}

void paged_attention(const AttentionShape& shape, const AttentionRule& rule, std::span<const PagedText> texts,
                     HeadsRef<const float> q, const float* sinks, HeadsRef<float> out) {
  if (texts.empty() || shape.kv_heads == 0 || shape.queries == 0) return;
  std::vector<PagedCall> calls;
  for (std::size_t t = 0; t < texts.size(); ++t)
    calls.push_back(call_of(shape, rule, texts[t], static_cast<i64>(t), q, sinks, out));
  if (shape.queries == 1) return attention_of_single_queries(calls);
  const i64 blocks = calls.front().call.blocks(), each = shape.kv_heads * blocks;
  for_chunks(std::ssize(texts) * each, 1, [&](i64 i, i64) {
    const PagedCall& p = calls[static_cast<std::size_t>(i / each)];
    HWY_DYNAMIC_DISPATCH(whole_block)(p, i % each / blocks, p.call.block(i % blocks));
  });
}

}  // namespace bora::kernels
#endif
