// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/top_k.h"

#include <cmath>

#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

bool is_greater(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

void top_k_of_row(i64 n, i64 k, const float* x, i64* places) {
  i64 found = 0;
  for (i64 i = 0; i < n; ++i) {
    if (found == k && !is_greater(x[i], x[places[k - 1]])) continue;
    i64 at = found < k ? found++ : k - 1;
    for (; at > 0 && is_greater(x[i], x[places[at - 1]]); --at) places[at] = places[at - 1];
    places[at] = i;
  }
}

}  // namespace

void top_k(i64 rows, i64 n, i64 k, const float* x, i64* places) {
  constexpr i64 kAtOnce = 128;
  for_chunks(rows, kAtOnce, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; ++row) top_k_of_row(n, k, x + row * n, places + row * k);
  });
}

}  // namespace bora::kernels
