// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/slots.h"

#include <algorithm>

#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

// Tokens of a chunk: about 64 KiB of slots.
i64 chunk_of(const SlotShape& s) { return std::max<i64>(1, 16384 / std::max<i64>(1, s.k * s.width)); }

// In sixteen sums, added up in order.
float product(i64 n, const float* a, const float* b) {
  constexpr i64 kLanes = 16;
  float sums[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (i64 lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void to_slots(const SlotShape& s, const std::int32_t* place, const float* x, const float* w, float* slots) {
  for_chunks(s.tokens, chunk_of(s), [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t) {
      const float* const from = x + t * s.width;
      for (i64 j = t * s.k; j < (t + 1) * s.k; ++j) {
        float* const to = slots + place[j] * s.width;
        if (w == nullptr) {
          std::copy_n(from, s.width, to);
          continue;
        }
        const float scale = w[j];
        for (i64 i = 0; i < s.width; ++i) to[i] = scale * from[i];
      }
    }
  });
}

void from_slots(const SlotShape& s, const std::int32_t* place, const float* slots, const float* w,
                float* out) {
  for_chunks(s.tokens, chunk_of(s), [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t) {
      float* const to = out + t * s.width;
      std::fill_n(to, s.width, 0.0F);
      for (i64 j = t * s.k; j < (t + 1) * s.k; ++j) {
        const float* const from = slots + place[j] * s.width;
        const float scale = w == nullptr ? 1.0F : w[j];
        for (i64 i = 0; i < s.width; ++i) to[i] += scale * from[i];
      }
    }
  });
}

void slot_products(const SlotShape& s, const std::int32_t* place, const float* slots, const float* x,
                   float* out) {
  for_chunks(s.tokens, chunk_of(s), [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t) {
      for (i64 j = t * s.k; j < (t + 1) * s.k; ++j)
        out[j] = product(s.width, slots + place[j] * s.width, x + t * s.width);
    }
  });
}

}  // namespace bora::kernels
