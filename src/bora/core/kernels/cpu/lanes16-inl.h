// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// To be included where the target has AVX-512.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

namespace bora::kernels {
namespace {

/// A mask of the first n of 16 lanes.
__mmask16 first_lanes(std::int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffff : (1U << std::max<std::int64_t>(n, 0)) - 1);
}

/// Sixteen vectors of a 16 x 16 block become its columns.
void transpose(__m512 (&x)[16]) {
  __m512 y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
    for (int h = 0; h < 2; ++h) {
      const __m512d p = _mm512_castps_pd(y[i + h]), q = _mm512_castps_pd(y[i + 2 + h]);
      x[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
      x[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
    }
  }
  // x[4g + j] holds columns j, j + 4, j + 8, j + 12 of rows 4g to 4g + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 p = _mm512_shuffle_f32x4(x[j], x[4 + j], 0x44),
                 q = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0x44),
                 r = _mm512_shuffle_f32x4(x[j], x[4 + j], 0xee),
                 s = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0xee);
    y[j] = _mm512_shuffle_f32x4(p, q, 0x88);
    y[4 + j] = _mm512_shuffle_f32x4(p, q, 0xdd);
    y[8 + j] = _mm512_shuffle_f32x4(r, s, 0x88);
    y[12 + j] = _mm512_shuffle_f32x4(r, s, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

/// What was stored at `x` before is there for instructions after it of which the compiler does not know what they read.
inline void stored_before(const void* x) { __asm__ volatile("" : : "r"(x) : "memory"); }

}  // namespace
}  // namespace bora::kernels
