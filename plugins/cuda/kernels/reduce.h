// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "threads.h"

namespace bora::cuda {

/// All threads' values together, for all of them, by one fixed tree: pairs within a warp, then pairs of warps.
/// kThreads: a power of two. `room`: shared memory for one value of each warp, which is free again afterwards;
/// null for a block of one warp. `combine` gives the same for (a, b) and (b, a).
template <int kThreads, class T, class Combine>
__device__ T over_block(T v, T* room, const Combine& combine) {
  for (int d = kWarp / 2; d > 0; d /= 2) v = combine(v, shuffle_xor(v, d));
  if constexpr (kThreads > kWarp) {
    constexpr int kWarps = kThreads / kWarp;
    static_assert(kWarps <= kWarp && (kWarps & (kWarps - 1)) == 0);
    if (thread() % kWarp == 0) room[thread() / kWarp] = v;
    sync();
    v = room[thread() % kWarps];
    for (int d = kWarps / 2; d > 0; d /= 2) v = combine(v, shuffle_xor(v, d));
    sync();
  }
  return v;
}

struct Plus {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

/// Two sums in one go.
struct Two {
  float a, b;
  __device__ friend Two operator+(const Two& x, const Two& y) { return {x.a + y.a, x.b + y.b}; }
};

}  // namespace bora::cuda
