// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bora::tokenize {

/// What 64 bytes are, one bit each, the first byte's the lowest. Bytes of characters that are not ASCII are
/// in `high` alone.
struct ByteMasks {
  std::uint64_t letter = 0;
  std::uint64_t upper = 0;  ///< of the letters
  std::uint64_t digit = 0;
  std::uint64_t space = 0;    ///< white space: 9 to 13 and 32
  std::uint64_t newline = 0;  ///< of the white space: \n and \r
  std::uint64_t blank = 0;    ///< of the white space: 32
  std::uint64_t quote = 0;    ///< '
  std::uint64_t slash = 0;    ///< /
  std::uint64_t high = 0;
};

#if defined(__SSE2__)

/// Of the 64 bytes at `p`.
inline ByteMasks byte_masks(const char* p) {
  const auto bits = [](__m128i v) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(v)));
  };
  const auto equal = [](__m128i v, char c) { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); };
  const auto within = [](__m128i v, int first, int count) {  // signed: the range moved to the lowest numbers
    const __m128i moved = _mm_add_epi8(v, _mm_set1_epi8(static_cast<char>(0x80 - first)));
    return _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(count - 0x80)), moved);
  };
  ByteMasks m;
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
    const __m128i blank = equal(v, ' '), newline = _mm_or_si128(equal(v, '\n'), equal(v, '\r'));
    const int shift = 16 * i;
    m.letter |= bits(within(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26)) << shift;
    m.upper |= bits(within(v, 'A', 26)) << shift;
    m.digit |= bits(within(v, '0', 10)) << shift;
    m.space |= bits(_mm_or_si128(blank, within(v, 9, 5))) << shift;
    m.newline |= bits(newline) << shift;
    m.blank |= bits(blank) << shift;
    m.quote |= bits(equal(v, '\'')) << shift;
    m.slash |= bits(equal(v, '/')) << shift;
    m.high |= bits(v) << shift;
  }
  return m;
}

#else

inline ByteMasks byte_masks(const char* p) {
  ByteMasks m;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto c = static_cast<unsigned char>(p[i]);
    const auto put = [i](std::uint64_t& mask, bool on) { mask |= static_cast<std::uint64_t>(on) << i; };
    put(m.letter, static_cast<unsigned char>((c | 0x20) - 'a') < 26);
    put(m.upper, static_cast<unsigned char>(c - 'A') < 26);
    put(m.digit, static_cast<unsigned char>(c - '0') < 10);
    put(m.space, c == ' ' || static_cast<unsigned char>(c - 9) < 5);
    put(m.newline, c == '\n' || c == '\r');
    put(m.blank, c == ' ');
    put(m.quote, c == '\'');
    put(m.slash, c == '/');
    put(m.high, c >= 0x80);
  }
  return m;
}

#endif

}  // namespace bora::tokenize
