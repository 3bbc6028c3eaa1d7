// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/amx_few_rows.h"

#include "bora/base/error.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/kernels/cpu/tile_config.h"

#include "hwy/base.h"

// A tile of b is 16 outputs x 32 of k, a group, as it lies in memory. Rows of a are columns: up to 16 at a time, which
// are those of a pass, each in three parts; column p · rows + r is part p of row r. A tile of a has the pairs of a group
// in its 16 lines, of 16 columns. More outputs at a time would be more streams than memory fetches ahead.

#ifndef __clang__  // GCC 12 warns of its own header, where vectors are undefined on purpose
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
#include "bora/core/kernels/cpu/lanes16-inl.h"

namespace bora::kernels {
namespace {

namespace few {

using i64 = std::int64_t;

constexpr i64 kLines = 16, kGroup = 32, kParts = 3;
constexpr i64 kTile = kLines * 16;  // floats, or pairs of bfloat16s

struct Pass {
  i64 rows, tiles;  ///< tiles of columns
  i64 width;        ///< columns of a tile: fewer than 16 where few are all, since every thread reads them
  const float* pairs;

  i64 group() const { return tiles * kLines * width; }  ///< pairs
};

/// So many of `all` rows.
Pass pass_of(i64 rows, i64 all) {
  const i64 columns = kParts * rows;
  return {rows, (columns + kLines - 1) / kLines, all * kParts < kLines ? (columns + 3) / 4 * 4 : kLines,
          nullptr};
}

// ---- rows of a

/// Sixteen elements of a row as three bfloat16s each, in the upper halves of words; what a rest leaves is below half a
/// unit in the last place.
void split(__m512 x, __m512i (&parts)[kParts]) {
  const __m512i half = _mm512_set1_epi32(0x8000), high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
#pragma GCC unroll 3
  for (int p = 0; p < kParts; ++p) {
    parts[p] = _mm512_castps_si512(x);
    if (p < 2) parts[p] = _mm512_and_epi32(_mm512_add_epi32(parts[p], half), high);
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(parts[p]));
  }
}

/// 32 elements from `at` on, of which `exist` do, as 16 pairs of neighbours of each part.
void pairs_of(const float* at, i64 exist, __m512 (&out)[kParts]) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
                odd = _mm512_add_epi32(even, _mm512_set1_epi32(1)),
                high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(exist), at),
               up = _mm512_maskz_loadu_ps(first_lanes(exist - kLines), at + kLines);
  __m512i first[kParts], second[kParts];
  split(_mm512_permutex2var_ps(low, even, up), first);
  split(_mm512_permutex2var_ps(low, odd, up), second);
  for (int p = 0; p < kParts; ++p) {
    const __m512i words = _mm512_srli_epi32(first[p], 16);
    out[p] = _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(words, second[p], high, 0xf8));  // words | second & high
  }
}

/// All groups of the rows of a from here on, tile after tile.
void pack(const float* a, i64 stride, const Pass& pass, i64 k, float* out) {
  const i64 rows = pass.rows;
  alignas(64) float lines[3 * kTile];  // a column in each
  for (i64 at = 0; at < k; at += kGroup) {
    std::fill(lines + kParts * rows * 16, lines + pass.tiles * kTile, 0.0F);
    for (i64 r = 0; r < rows; ++r) {
      __m512 parts[kParts];
      pairs_of(a + r * stride + at, k - at, parts);
      for (i64 p = 0; p < kParts; ++p) _mm512_store_ps(lines + (p * rows + r) * 16, parts[p]);
    }
    for (i64 t = 0; t < pass.tiles; ++t, out += kLines * pass.width) {
      __m512 columns[kLines];
#pragma GCC unroll 16
      for (int i = 0; i < kLines; ++i) columns[i] = _mm512_load_ps(lines + t * kTile + i * 16);
      transpose(columns);
#pragma GCC unroll 16
      for (int i = 0; i < kLines; ++i)
        _mm512_mask_storeu_ps(out + i * pass.width, first_lanes(pass.width), columns[i]);
    }
  }
}

// ---- lines of b

/// A tile of `outputs` outputs and `ks` of k; the rest is zeros.
void store_tile(const std::uint16_t* from, i64 stride, i64 outputs, i64 ks, std::uint16_t* out) {
  const auto exist = static_cast<__mmask32>(ks >= kGroup ? 0xffffffff : (1U << ks) - 1);
  for (i64 i = 0; i < kLines; ++i, out += kGroup)
    _mm512_store_si512(out, _mm512_maskz_loadu_epi16(i < outputs ? exist : 0, from + i * stride));
}

/// The same lines of the next outputs come into the second cache.
void fetch(const std::uint16_t* from, i64 stride) {
#pragma GCC unroll 16
  for (int i = 0; i < kLines; ++i) __builtin_prefetch(from + i * stride, 0, 2);
}

// ---- multiplying

/// Only tile 3 is as wide as can be.
TileConfig config_for(i64 width) {
  TileConfig config;
  for (const int tile : {0, 1, 2, 5, 6, 7})
    config.bytes_of_a_line[tile] = static_cast<std::uint16_t>(4 * width);
  return config;
}

// Tiles 0 to 2 hold the sums, 3 lines of b, 5 to 7 columns of a. Their numbers are part of the instructions: macros.
#define BORA_LOAD_COLUMNS(to, tile) _tile_loadd(to, pairs + (tile) * kLines * width, 4 * width)

template <int kTiles>
void add_group(const std::uint16_t* lines, i64 stride, const float* pairs, i64 width) {
  BORA_LOAD_COLUMNS(5, 0);
  if constexpr (kTiles > 1) BORA_LOAD_COLUMNS(6, 1);
  if constexpr (kTiles > 2) BORA_LOAD_COLUMNS(7, 2);
  _tile_loadd(3, lines, 2 * stride);
  _tile_dpbf16ps(0, 3, 5);
  if constexpr (kTiles > 1) _tile_dpbf16ps(1, 3, 6);
  if constexpr (kTiles > 2) _tile_dpbf16ps(2, 3, 7);
}

#undef BORA_LOAD_COLUMNS

/// [tile of columns][output][column]
template <int kTiles>
void store_sums(float* out) {
  _tile_stored(0, out, 64);
  if constexpr (kTiles > 1) {
    _tile_stored(1, out + kTile, 64);
  }
  if constexpr (kTiles > 2) {
    _tile_stored(2, out + 2 * kTile, 64);
  }
}

/// c [rows, outputs] from the sums, the small parts first.
void finish(const Pass& pass, const float* sums, i64 outputs, float* c, i64 c_stride) {
  alignas(64) float columns[3 * kTile];
  for (i64 t = 0; t < pass.tiles; ++t) {
    __m512 block[kLines];
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) block[i] = _mm512_load_ps(sums + t * kTile + i * 16);
    transpose(block);
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) _mm512_store_ps(columns + t * kTile + i * 16, block[i]);
  }
  for (i64 r = 0; r < pass.rows; ++r) {
    const auto part = [&](i64 p) { return _mm512_load_ps(columns + (p * pass.rows + r) * 16); };
    _mm512_mask_storeu_ps(c + r * c_stride, first_lanes(outputs),
                          _mm512_add_ps(_mm512_add_ps(part(2), part(1)), part(0)));
  }
}

/// Sums of `outputs` outputs; `meanwhile` is called while the unit works.
template <int kTiles>
void multiply(const std::uint16_t* b, i64 k, i64 outputs, const Pass& pass, float* sums, auto&& meanwhile) {
  const float* pairs = pass.pairs;
  const i64 group = kTiles * kLines * pass.width;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  const i64 whole = outputs < kLines ? 0 : k / kGroup * kGroup;
  for (i64 at = 0; at < whole; at += kGroup, pairs += group) {
    fetch(b + kLines * k + at, k);
    add_group<kTiles>(b + at, k, pairs, pass.width);
  }
  for (i64 at = whole; at < k; at += kGroup, pairs += group) {
    alignas(64) std::uint16_t room[kLines * kGroup];
    store_tile(b + at, k, outputs, k - at, room);
    stored_before(room);
    add_group<kTiles>(room, kGroup, pairs, pass.width);
  }
  meanwhile();
  store_sums<kTiles>(sums);
}

/// Outputs [begin, end) of all passes. What the sums of some outputs still need is done while the unit works on the
/// next ones.
void multiply_outputs(const StoredMatrix& b, std::span<const Pass> passes, i64 begin, i64 end, float* c,
                      i64 c_stride) {
  const TileConfig config = config_for(passes.front().width);
  _tile_loadconfig(&config);
  alignas(64) float room[2][3 * kTile] = {};
  struct Unfinished {
    const Pass* pass = nullptr;
    const float* sums = nullptr;
    i64 outputs = 0;
    float* c = nullptr;
  } last;
  const auto finish_last = [&] {
    if (last.pass != nullptr) finish(*last.pass, last.sums, last.outputs, last.c, c_stride);
  };
  int at = 0;
  for (i64 j = begin; j < end; j += kLines) {
    const i64 outputs = std::min(kLines, end - j);
    const std::uint16_t* const weights = b.bf16 + j * b.inputs;
    float* to = c + j;
    for (const Pass& pass : passes) {
      float* const sums = room[at++ % 2];
      if (pass.tiles == 1)
        multiply<1>(weights, b.inputs, outputs, pass, sums, finish_last);
      else if (pass.tiles == 2)
        multiply<2>(weights, b.inputs, outputs, pass, sums, finish_last);
      else
        multiply<3>(weights, b.inputs, outputs, pass, sums, finish_last);
      last = {&pass, sums, outputs, to};
      to += pass.rows * c_stride;
    }
  }
  finish_last();
  _tile_release();
}

}  // namespace few

}  // namespace
}  // namespace bora::kernels
HWY_POP_ATTRIBUTES
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

namespace bora::kernels {

void amx_few_rows_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c,
                         std::int64_t c_stride) {
  constexpr std::int64_t kTogether = 128;  // outputs of one thread at a time
  using few::i64;
  const i64 groups = (b.inputs + few::kGroup - 1) / few::kGroup;
  std::vector<few::Pass> passes;
  i64 room = 0;
  for (i64 row = 0; row < m; row += few::kLines) {
    const i64 rows = std::min(few::kLines, m - row);
    passes.push_back(few::pass_of(rows, m));
    room += groups * passes.back().group();
  }
  float* out = scratch(Scratch::packed, room);
  for (i64 row = 0; auto& pass : passes) {
    pass.pairs = out;
    few::pack(a.data + row * a.stride, a.stride, pass, b.inputs, out);
    out += groups * pass.group();
    row += pass.rows;
  }
  for_chunks(b.outputs, kTogether,
             [&](i64 begin, i64 end) { few::multiply_outputs(b, passes, begin, end, c, c_stride); });
}

}  // namespace bora::kernels

#else

namespace bora::kernels {

void amx_few_rows_matmul(std::int64_t, MatrixRef, const StoredMatrix&, float*, std::int64_t) {
  fail(ErrorKind::Unsupported, "AMX: this program was built for a CPU without it");
}

}  // namespace bora::kernels

#endif
