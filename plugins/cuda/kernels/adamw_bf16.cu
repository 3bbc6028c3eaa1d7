// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw_bf16.h"

#include "adamw_update.h"
#include "philox.h"

namespace bora::cuda {
namespace {

// The place of an element in the whole array: kernels::WholeIndex::of.
__device__ inline std::int64_t whole_place(const kernels::WholeIndex& index, std::int64_t i) {
  for (int c = 0; c < index.cuts; ++c) {
    const auto& cut = index.cut[c];
    const std::int64_t row = i / cut.run;
    i = row * cut.stride + (i - row * cut.run) + cut.first;
  }
  return i;
}

__device__ inline Bf16 by_chance(float x, std::uint32_t chance) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
  const std::uint32_t quiet = (bits & 0x007fffffU) != 0 ? 0x00400000U : 0U;
  return {static_cast<std::uint16_t>((finite ? bits + chance : bits | quiet) >> 16)};
}

// Chosen and not indexed: an index would take the words out of the registers.
__device__ inline std::uint32_t word_of(const Words& words, int i) {
  return i == 0 ? words.w[0] : i == 1 ? words.w[1] : i == 2 ? words.w[2] : words.w[3];
}

// The words of a pack: two blocks where it stands in a row from a multiple of four on, else one for each element.
__device__ inline void draw(const kernels::Rounding& rounding, std::int64_t i, std::uint32_t (&word)[kPack]) {
  const std::int64_t place = whole_place(rounding.index, i);
  const bool in_a_row = whole_place(rounding.index, i + kPack - 1) - place == kPack - 1;
  if (in_a_row && place % 4 == 0) {
    const auto at = static_cast<std::uint64_t>(place) / 4;
    const Words two[2] = {philox(rounding.key, rounding.stream, at),
                          philox(rounding.key, rounding.stream, at + 1)};
    for (int j = 0; j < kPack; ++j) word[j] = two[j / 4].w[j % 4];
    return;
  }
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int j = 0; j < kPack; ++j) {
    const std::int64_t own = whole_place(rounding.index, i + j);
    word[j] = word_of(philox(rounding.key, rounding.stream, static_cast<std::uint64_t>(own) / 4),
                      static_cast<int>(own % 4));
  }
}

struct Bf16Moments {
  using Arrays = kernels::SteppedBf16;
  using Element = Bf16;
  __device__ static void round(const Arrays& a, std::int64_t i, float (&m)[kPack], float (&v)[kPack]) {
    std::uint32_t word[kPack];
    draw(a.rounding, i, word);
    for (int j = 0; j < kPack; ++j) {
      m[j] = to_float(by_chance(m[j], word[j] & 0xffffU));
      v[j] = to_float(by_chance(v[j], word[j] >> 16));
    }
  }
};

}  // namespace

void adamw_bf16(const kernels::AdamW& step, std::int64_t count, const kernels::SteppedBf16* arrays,
                Stream stream) {
  adamw_update<Bf16Moments>(step, count, arrays, stream);
}

}  // namespace bora::cuda
