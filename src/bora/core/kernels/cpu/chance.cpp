// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/chance.h"

#include <algorithm>
#include <bit>

#include "bora/core/kernels/cpu/random.h"
#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {

void chance_words(const Rounding& rounding, std::int64_t first, std::int64_t n, std::uint32_t* out) {
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t run = rounding.index.run(first + i, n - i);
    words({rounding.key, rounding.stream}, rounding.index.of(first + i), run, out + i);
    i += run;
  }
}

// Between two neighbours in bf16 lie 2^16 numbers of fp32 at equal steps: what chance adds carries into the upper
// half as often as the lower one says. Whole numbers alone, so that the bits are those of every machine.
void by_chance_here(std::int64_t n, const float* x, const std::uint32_t* words, Half half, std::uint16_t* y) {
  const unsigned shift = half == Half::low ? 0 : 16;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(x[i]);
    const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
    const std::uint32_t quiet = (bits & 0x007fffffU) != 0 ? 0x00400000U : 0U;
    const std::uint32_t moved = finite ? bits + (words[i] >> shift & 0xffffU) : bits | quiet;
    y[i] = static_cast<std::uint16_t>(moved >> 16);
  }
}

void by_chance(std::int64_t n, const float* x, std::uint16_t* y, Half half, const Rounding& rounding) {
  for_chunks(n, 16384, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kPiece = 1024;
    std::uint32_t words[kPiece];
    for (std::int64_t at = begin; at < end; at += kPiece) {
      const std::int64_t count = std::min(kPiece, end - at);
      chance_words(rounding, at, count, words);
      by_chance_here(count, x + at, words, half, y + at);
    }
  });
}

}  // namespace bora::kernels
