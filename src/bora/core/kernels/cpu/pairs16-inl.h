// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// To be included where the target has AVX-512 with bfloat16: how two bf16 sides are packed for products of pairs, 16
// rows of a (columns of b) and 32 of k at a time. 16 lines of 16 pairs of neighbours in k: in parts of a a line is a
// row; in those of b line j holds pair j of 16 columns.
#pragma once
#include "bora/core/kernels/cpu/lanes16-inl.h"
#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {
namespace {

constexpr std::int64_t kLines = 16, kPairs = 16;

__mmask32 first_halves(std::int64_t n) {
  return static_cast<__mmask32>(n >= 32 ? 0xffffffff : (1U << std::max<std::int64_t>(n, 0)) - 1);
}

/// Sixteen pairs of neighbours in memory, from the element `at` on, of which `exist` do.
__m512i neighbours(const MatrixRef& x, std::int64_t at, std::int64_t exist) {
  if (x.halves != nullptr) return _mm512_maskz_loadu_epi16(first_halves(exist), x.halves + at);
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(exist), x.data + at),
               high = _mm512_maskz_loadu_ps(first_lanes(exist - kPairs), x.data + at + kPairs);
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/// Sixteen elements, one in the lower half of each word.
__m512i in_words(const MatrixRef& x, std::int64_t at, __mmask16 exist) {
  return _mm512_cvtepu16_epi32(x.halves != nullptr
                                   ? _mm256_maskz_loadu_epi16(exist, x.halves + at)
                                   : (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(exist, x.data + at)));
}

/// Sixteen pairs of elements one below the other, of which `columns` exist; the lower ones may not.
__m512i stacked(const MatrixRef& x, std::int64_t at, std::int64_t columns, bool lower) {
  const __mmask16 exist = first_lanes(columns);
  const __m512i below = in_words(x, at + x.stride, lower ? exist : __mmask16{0});
  return _mm512_or_si512(in_words(x, at, exist), _mm512_slli_epi32(below, 16));
}

/// One group: `lines` rows of a (columns of b) from `line` on, over `ks` of k from k on; the rest is zeros.
/// `along`: k runs along a line of memory.
template <bool kLeft, bool kAlong>
void pack_pairs(const MatrixRef& x, std::int64_t line, std::int64_t k, std::int64_t lines, std::int64_t ks,
                float* out) {
  __m512 words[kLines];
#pragma GCC unroll 16
  for (int i = 0; i < kLines; ++i) {
    __m512i word = _mm512_setzero_si512();
    if constexpr (kAlong) {
      if (i < lines) word = neighbours(x, (line + i) * x.stride + k, ks);
    } else {
      if (2 * i < ks) word = stacked(x, (k + 2 * i) * x.stride + line, lines, 2 * i + 1 < ks);
    }
    words[i] = _mm512_castsi512_ps(word);
  }
  if constexpr (kLeft != kAlong) transpose(words);
#pragma GCC unroll 16
  for (int i = 0; i < kLines; ++i) _mm512_store_ps(out + i * kPairs, words[i]);
}

}  // namespace
}  // namespace bora::kernels
