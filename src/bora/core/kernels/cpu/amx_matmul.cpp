// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/amx_matmul.h"

#include "bora/base/error.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "bora/core/kernels/cpu/panels.h"
#include "bora/core/kernels/cpu/simd_target.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/kernels/cpu/tile_config.h"

#include "hwy/base.h"

// A panel is 32 rows of a or 32 columns of b. For each 32 of k, a group, it holds the parts of its elements
// (three, or one of what is bfloat16 already), and of each part two tiles of 16 rows (columns) x 32 k. A tile
// has 16 lines of 16 pairs. In tiles of a a line is a row, and pair j holds k = j and j + 16; in those of b
// line j holds the pairs k = j and j + 16 of 16 columns. The unit sums over pairs: any order of k will do
// that is the same in both, and two sides of bfloat16s are packed in pairs of neighbours (pairs16-inl.h), which
// needs no fp32 in between. Packed sides are read from the first element to the last one: k is cut in stretches,
// within a stretch follow the panels, within a panel the groups.

#ifndef __clang__  // GCC 12 warns of its own header, where vectors are undefined on purpose
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
#include "bora/core/kernels/cpu/pairs16-inl.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

constexpr i64 kSide = 32, kGroup = 2 * kPairs;  // rows or columns of a panel; k of a tile
constexpr i64 kTile = kLines * kPairs;          // floats that a tile takes
constexpr i64 kPart = 2 * kTile;                // from one part of a group to the next
// Sums of bfloat16s are one chain over all of k; sums of parts are chains over stretches of k that are added, which
// rounds less.
template <int kLeft>
constexpr bool kOneChain = kLeft == 1;

/// k of a stretch. Long ones: c is read and written seldom, and the right panels of a task still fit the second cache.
/// Where few products are made of what is loaded, a left panel has to stay in the first cache, and stretches are as even
/// as can be. More rows per task, other stretches and fetching c, left panels or more than a group ahead were not faster.
template <int kLeft>
i64 stretch_of(const ProductBlock& p) {
  if constexpr (!kOneChain<kLeft>) return 768;
  constexpr i64 kMost = 384;
  const i64 stretches = (p.panel_k + kMost - 1) / kMost, groups = p.panel_k / kGroup;
  return (groups + stretches - 1) / stretches * kGroup;
}

/// Where the group at (`at`, k) of a side begins; `at` is a row of a side with `count` rows, or a column.
template <int kParts>
i64 group_begins(const ProductBlock& p, i64 stretch, i64 count, i64 at, i64 k) {
  const i64 panels = (count + kSide - 1) / kSide, begins = k / stretch * stretch;
  const i64 groups = std::min(stretch, p.panel_k - begins) / kGroup;  // of this stretch
  return (begins / kGroup * panels + at / kSide * groups + (k - begins) / kGroup) * kParts * kPart;
}

// ---- packing

/// 16 x 16 elements of x from (i, j) on, of which `rows` x `columns` exist, line by line of memory; the others are zeros.
/// Those that are `down` and `right` from there come into the cache: rows that are a part of a page apart are no streams
/// that are fetched ahead.
template <bool kTransposed>
struct Block {
  const float *from, *next;
  i64 stride, lines;
  __mmask16 exist;

  Block(const MatrixRef& x, i64 i, i64 j, i64 rows, i64 columns, i64 down, i64 right)
      : from(x.data + (kTransposed ? j * x.stride + i : i * x.stride + j)),
        next(from + (kTransposed ? right * x.stride + down : down * x.stride + right)),
        stride(x.stride),
        lines(kTransposed ? columns : rows),
        exist(first_lanes(kTransposed ? rows : columns)) {}
  __m512 line(int i) const {
    _mm_prefetch(next + i * stride, _MM_HINT_T0);
    return i < lines ? _mm512_maskz_loadu_ps(exist, from + i * stride) : _mm512_setzero_ps();
  }
  void all(__m512 (&out)[16]) const {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) out[i] = line(i);
  }
};

/// The nearest bfloat16, as an fp32.
__m512 bf16_part(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000), high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return _mm512_castsi512_ps(_mm512_and_epi32(_mm512_add_epi32(_mm512_castps_si512(x), half), high));
}

void store_pairs(__m512 even, __m512 odd, float* out) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even), 16);
  // low | (odd & high)
  _mm512_store_si512(out, _mm512_ternarylogic_epi32(low, _mm512_castps_si512(odd), high, 0xf8));
}

/// The nearest bfloat16s, ties to even; what is one already stays as it is.
void store_nearest_pairs(__m512 even, __m512 odd, float* out) {
  const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even)),
                high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
  _mm512_store_si512(out, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/// One line of the tiles of all parts.
template <int kParts>
void store_parts(__m512 even, __m512 odd, float* out) {
  if constexpr (kParts == 1) return store_nearest_pairs(even, odd, out);
  const __m512 even0 = bf16_part(even), odd0 = bf16_part(odd);
  const __m512 even_rest = _mm512_sub_ps(even, even0), odd_rest = _mm512_sub_ps(odd, odd0);
  const __m512 even1 = bf16_part(even_rest), odd1 = bf16_part(odd_rest);
  store_pairs(even0, odd0, out);
  store_pairs(even1, odd1, out + kPart);
  store_pairs(_mm512_sub_ps(even_rest, even1), _mm512_sub_ps(odd_rest, odd1), out + 2 * kPart);
}

/// One tile and its other parts: its pairs' first elements are the block of x from (i, j) on, of which `rows`
/// x `columns` exist; their second ones lie `down` rows below or `right` columns beside it.
template <bool kTransposed, int kParts>
void pack_tile(const MatrixRef& x, i64 i, i64 j, i64 down, i64 right, i64 rows, i64 columns, float* out) {
  const Block<kTransposed> first(x, i, j, rows, columns, 2 * down, 2 * right);
  const Block<kTransposed> second(x, i + down, j + right, rows - down, columns - right, 2 * down, 2 * right);
  if constexpr (kTransposed) {
    __m512 even[16], odd[16];
    first.all(even);
    transpose(even);
    second.all(odd);
    transpose(odd);
#pragma GCC unroll 16
    for (int line = 0; line < 16; ++line) store_parts<kParts>(even[line], odd[line], out + line * kLines);
  } else {
#pragma GCC unroll 16
    for (int line = 0; line < 16; ++line)
      store_parts<kParts>(first.line(line), second.line(line), out + line * kLines);
  }
}

/// Sixteen pairs of b, the elements of which are 16 apart in k: of column `line` + i if k runs along a line of memory
/// (all 16 pairs of k), else of k = k + i in 16 columns.
template <bool kAlong>
__m512i pairs_apart(const MatrixRef& x, i64 line, i64 k, i64 lines, i64 ks, int i) {
  if constexpr (kAlong) {
    if (i >= lines) return _mm512_setzero_si512();
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                           7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, neighbours(x, (line + i) * x.stride + k, ks));
  } else {
    const auto words = [&](i64 at) {
      return at < ks ? in_words(x, (k + at) * x.stride + line, first_lanes(lines)) : _mm512_setzero_si512();
    };
    return _mm512_or_si512(words(i), _mm512_slli_epi32(words(i + kLines), 16));
  }
}

/// One tile of a (or b) and its other parts: `lines` rows (columns) from `line` on, `ks` of k from k on. `kAlong`: k
/// runs along a line of memory.
template <bool kOfA, bool kAlong, int kParts>
void pack_tiles(const MatrixRef& x, i64 line, i64 k, i64 lines, i64 ks, float* out) {
  if constexpr (kOfA)
    pack_tile<!kAlong, kParts>(x, line, k, 0, kLines, lines, ks, out);
  else
    pack_tile<kAlong, kParts>(x, k, line, kLines, 0, ks, lines, out);
}

/// The same of a side of bfloat16s in memory, whose pairs are k and k + 16 as those of the other side's parts.
template <bool kAlong>
void pack_halves(const MatrixRef& x, i64 line, i64 k, i64 lines, i64 ks, float* out) {
  __m512 words[kLines];
  const std::uint16_t* const next =
      x.halves + (kAlong ? line * x.stride + k + kGroup : (k + kGroup) * x.stride + line);
#pragma GCC unroll 16
  for (int i = 0; i < kLines; ++i) {
    _mm_prefetch(next + i * x.stride, _MM_HINT_T0);
    if (!kAlong) _mm_prefetch(next + (i + kLines) * x.stride, _MM_HINT_T0);
    words[i] = _mm512_castsi512_ps(pairs_apart<kAlong>(x, line, k, lines, ks, i));
  }
  if constexpr (kAlong) transpose(words);
#pragma GCC unroll 16
  for (int i = 0; i < kLines; ++i) _mm512_store_ps(out + i * kLines, words[i]);
}

/// The same of a product whose sides have so many parts.
template <bool kOfA, int kLeft, int kRight>
auto packing(const MatrixRef& x, bool along) {
  if constexpr (kLeft == 3 && kRight == 1 && !kOfA)
    if (x.halves != nullptr) return along ? pack_halves<true> : pack_halves<false>;
  if constexpr (kLeft == 1)
    return along ? pack_pairs<kOfA, true> : pack_pairs<kOfA, false>;
  else
    return along ? pack_tiles < kOfA, true, kOfA ? kLeft : kRight > : pack_tiles < kOfA, false,
           kOfA ? kLeft : kRight > ;
}

template <int kLeft, int kRight>
void pack_left(const ProductBlock& p, i64 row, i64 rows, i64 first, i64 last) {
  const auto tile = packing<true, kLeft, kRight>(p.a, !p.a.transposed);
  const i64 stretch = stretch_of<kLeft>(p);
  for (i64 i = row; i < row + rows; i += kSide) {
    for (i64 k = first; k < last; k += kGroup) {
      float* out = p.left + group_begins<kLeft>(p, stretch, p.m, i, k);
      for (i64 at = i; at < i + kSide; at += kLines, out += kTile)
        tile(p.a, at, k, row + rows - at, p.k - k, out);
    }
  }
}

template <int kLeft, int kRight>
void pack_right(const ProductBlock& p, i64 column, i64 columns, i64 first, i64 last) {
  const auto tile = packing<false, kLeft, kRight>(p.b, p.b.transposed);
  const i64 stretch = stretch_of<kLeft>(p);
  for (i64 k = first; k < last; k += kGroup) {
    for (i64 j = column; j < column + columns; j += kSide) {
      float* out = p.right + group_begins<kRight>(p, stretch, p.n, j, k);
      for (i64 at = j; at < j + kSide; at += kLines, out += kTile)
        tile(p.b, at, k, column + columns - at, p.k - k, out);
    }
  }
}

// ---- multiplying

// Tiles 0 to 3 hold the sums, 4 and 5 lines of a, 6 and 7 lines of b. Their numbers are part of the
// instructions: macros.
#define BORA_LOAD_LEFT(part)                 \
  _tile_loadd(4, left + (part) * kPart, 64); \
  _tile_loadd(5, left + (part) * kPart + kTile, 64)
#define BORA_LOAD_RIGHT(part)                 \
  _tile_loadd(6, right + (part) * kPart, 64); \
  _tile_loadd(7, right + (part) * kPart + kTile, 64)
#define BORA_MULTIPLY()    \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

/// Lines of the next group's right panel.
void fetch(const float* from) {
#pragma GCC unroll 16
  for (int line = 0; line < 16; ++line) _mm_prefetch(from + line * kLines, _MM_HINT_T0);
}

/// c [32, 32] = the product of two panels over `groups`: three parts of both, three of the left side and one of the
/// right, or one of both. What a part of zeros would add is left out, the rest comes in one order. `add`: the sums go on
/// from c, else they begin.
template <int kLeft, int kRight>
void tile(i64 groups, const float* left, const float* right, float* c, i64 c_stride, bool add) {
  static_assert(kLeft == 3 || kRight == 1);
  float* const below = c + kLines * c_stride;
  const i64 bytes = c_stride * static_cast<i64>(sizeof(float));
  if (add) {
    _tile_loadd(0, c, bytes);
    _tile_loadd(1, c + kLines, bytes);
    _tile_loadd(2, below, bytes);
    _tile_loadd(3, below + kLines, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (; groups > 0; --groups, left += kLeft * kPart, right += kRight * kPart) {
    const float* next = right + kRight * kPart;
    if constexpr (kRight == 3) {  // each step loads one side anew
      BORA_LOAD_LEFT(2);
      BORA_LOAD_RIGHT(0);
      BORA_MULTIPLY();
      fetch(next);
      BORA_LOAD_LEFT(1);
      BORA_MULTIPLY();
      fetch(next + kTile);
      BORA_LOAD_RIGHT(1);
      BORA_MULTIPLY();
      fetch(next + 2 * kTile);
      BORA_LOAD_LEFT(0);
      BORA_MULTIPLY();
      fetch(next + 3 * kTile);
      BORA_LOAD_RIGHT(2);
      BORA_MULTIPLY();
      fetch(next + 4 * kTile);
      BORA_LOAD_RIGHT(0);
      BORA_MULTIPLY();
      fetch(next + 5 * kTile);
    } else {
      BORA_LOAD_RIGHT(0);
      if constexpr (kLeft == 3) {
        BORA_LOAD_LEFT(2);
        BORA_MULTIPLY();
        BORA_LOAD_LEFT(1);
        BORA_MULTIPLY();
      }
      BORA_LOAD_LEFT(0);
      BORA_MULTIPLY();
      fetch(next);
      fetch(next + kTile);
    }
  }
  _tile_stored(0, c, bytes);
  _tile_stored(1, c + kLines, bytes);
  _tile_stored(2, below, bytes);
  _tile_stored(3, below + kLines, bytes);
}

#undef BORA_LOAD_LEFT
#undef BORA_LOAD_RIGHT
#undef BORA_MULTIPLY

template <class Body>
void for_lines(i64 rows, i64 columns, const Body& body) {
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < columns; j += kLines) body(i, j, first_lanes(columns - j));
}

/// As tile(), to a c that is written once: past the caches.
template <int kLeft, int kRight>
void tile_past_caches(i64 groups, const float* left, const float* right, float* c, i64 c_stride) {
  alignas(64) float whole[kSide * kSide];
  tile<kLeft, kRight>(groups, left, right, whole, kSide, false);
  for (i64 i = 0; i < kSide; ++i)
    for (i64 j = 0; j < kSide; j += kLines)
      _mm512_stream_ps(c + i * c_stride + j, _mm512_load_ps(whole + i * kSide + j));
}

/// A tile at the edge of c, or one that is added to it: by way of a whole one.
template <int kLeft, int kRight>
void tile_beside(i64 rows, i64 columns, i64 groups, const float* left, const float* right, float* c,
                 i64 c_stride, bool add) {
  alignas(64) float whole[kSide * kSide];
  const bool goes_on = kOneChain<kLeft> && add;
  if (goes_on) {
    std::fill(std::begin(whole), std::end(whole), 0.0F);
    for_lines(rows, columns, [&](i64 i, i64 j, __mmask16 exist) {
      _mm512_store_ps(whole + i * kSide + j, _mm512_maskz_loadu_ps(exist, c + i * c_stride + j));
    });
    stored_before(whole);
  }
  tile<kLeft, kRight>(groups, left, right, whole, kSide, goes_on);
  for_lines(rows, columns, [&](i64 i, i64 j, __mmask16 exist) {
    float* to = c + i * c_stride + j;
    __m512 sum = _mm512_load_ps(whole + i * kSide + j);
    if (add && !goes_on) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(exist, to), sum);
    _mm512_mask_storeu_ps(to, exist, sum);
  });
}

template <int kLeft, int kRight>
void multiply_part(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end) {
  const TileConfig config;
  _tile_loadconfig(&config);
  const i64 stretch = stretch_of<kLeft>(p);
  const bool past_caches = p.past_caches && p.panel_k <= stretch && !p.add && p.c_stride % kLines == 0 &&
                           reinterpret_cast<std::uintptr_t>(p.c) % 64 == 0;
  for (i64 first = 0; first < p.panel_k; first += stretch) {
    const i64 groups = std::min(stretch, p.panel_k - first) / kGroup;
    const bool add = p.add || first > 0;
    for (i64 i = row_begin; i < row_end; i += kSide) {
      const float* left = p.left + group_begins<kLeft>(p, stretch, p.m, i, first);
      for (i64 j = column_begin; j < column_end; j += kSide) {
        const float* right = p.right + group_begins<kRight>(p, stretch, p.n, j, first);
        const i64 rows = std::min(kSide, row_end - i), columns = std::min(kSide, column_end - j);
        float* c = p.c + i * p.c_stride + j;
        if (rows == kSide && columns == kSide && past_caches) {
          tile_past_caches<kLeft, kRight>(groups, left, right, c, p.c_stride);
        } else if (rows == kSide && columns == kSide && (kOneChain<kLeft> || !add)) {
          tile<kLeft, kRight>(groups, left, right, c, p.c_stride, add);
        } else {
          tile_beside<kLeft, kRight>(rows, columns, groups, left, right, c, p.c_stride, add);
        }
      }
    }
  }
  if (past_caches) _mm_sfence();
  _tile_release();
}

template <int kLeft, int kRight>
constexpr PanelKernel kKernel{.group = kGroup,
                              .two_take = kLeft,
                              .task_rows = 128,
                              .narrow_rows = 64,
                              .narrow_few_rows = 32,
                              .rows_as_they_are = 0,
                              .pack_left = pack_left<kLeft, kRight>,
                              .pack_right = pack_right<kLeft, kRight>,
                              .multiply_part = multiply_part<kLeft, kRight>};

}  // namespace
}  // namespace bora::kernels
HWY_POP_ATTRIBUTES
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

namespace bora::kernels {
namespace {

bool cpu_has_amx() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bf16")) {
    return false;  // packing needs them
  }
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}

/// The operating system keeps tiles for those processes that ask.
bool system_lets_us() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace

bool amx_matmul_works() {
  static const bool has = cpu_has_amx() && system_lets_us();
  return has && !simd_target_is_capped();
}

void amx_matmul(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, Store store) {
  const auto& kernel = !b.is_bf16 ? kKernel<3, 3> : a.is_bf16 ? kKernel<1, 1> : kKernel<3, 1>;
  multiply_in_panels(kernel, m, n, k, a, b, c, c_stride, store);
}

}  // namespace bora::kernels

#else

namespace bora::kernels {

bool amx_matmul_works() { return false; }

void amx_matmul(std::int64_t, std::int64_t, std::int64_t, MatrixRef, MatrixRef, float*, std::int64_t, Store) {
  fail(ErrorKind::Unsupported, "AMX: this program was built for a CPU without it");
}

}  // namespace bora::kernels

#endif
