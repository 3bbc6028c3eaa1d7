// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Elements of arrays, which kernels read and write eight at a time and compute with in fp32.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "threads.h"

namespace bora::cuda {

struct Bf16 {
  std::uint16_t bits;
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float out;
  memcpy(&out, &bits, sizeof(out));
  return out;
}

/// To the nearest, ties to even; NaN stays NaN.
template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float x) {
#ifdef __CUDA_ARCH__
  Bf16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
#else
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  if (x != x) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
#endif
}

constexpr int kPack = 8;

namespace detail {

// kPack elements, 16 bytes at a time.
template <class T>
__device__ inline void copy_pack(T* to, const T* from) {
#ifdef __CUDA_ARCH__
  for (int i = 0; i < static_cast<int>(kPack * sizeof(T) / sizeof(uint4)); ++i)
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
#else
  memcpy(to, from, kPack * sizeof(T));
#endif
}

}  // namespace detail

/// Of all arrays that a kernel takes in packs: whether each pack of theirs that is whole begins at a multiple
/// of 16 bytes. Nothing else depends on it: the order of all additions is the same without.
template <class... T>
bool packs_lie_well(std::int64_t row, const T*... arrays) {
  const auto well = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return row % kPack == 0 && (... && well(arrays));
}

/// Elements i .. i + 7 of x [n] as they are stored; zeros beyond its end.
template <class T>
__device__ inline void load_stored(const T* x, std::int64_t i, std::int64_t n, bool well, T (&out)[kPack]) {
  if (well && i + kPack <= n) {
    detail::copy_pack(out, x + i);
    return;
  }
  for (int j = 0; j < kPack; ++j) out[j] = i + j < n ? x[i + j] : T{};
}

/// The same as numbers.
template <class T>
__device__ inline void load(const T* x, std::int64_t i, std::int64_t n, bool well, float (&out)[kPack]) {
  alignas(16) T pack[kPack];
  load_stored(x, i, n, well, pack);
  for (int j = 0; j < kPack; ++j) out[j] = to_float(pack[j]);
}

/// Begins to copy the same elements, those that x has, to the same places of `to`, which is shared memory at a multiple
/// of 16 bytes: a batch (threads.h).
template <class T>
__device__ inline void fetch(const T* x, std::int64_t i, std::int64_t n, bool well, T* to) {
  if (well && i + kPack <= n) {
    constexpr int kEach = 16 / sizeof(T);
    for (int j = 0; j < kPack; j += kEach) begin_copy(to + i + j, x + i + j);
  } else {
    T pack[kPack];
    load_stored(x, i, n, false, pack);
    for (int j = 0; j < kPack; ++j) {
      if (i + j < n) to[i + j] = pack[j];
    }
  }
  end_batch();
}

/// Writes them, those that x has.
template <class T>
__device__ inline void store(const float (&v)[kPack], T* x, std::int64_t i, std::int64_t n, bool well) {
  if (well && i + kPack <= n) {
    alignas(16) T pack[kPack];
    for (int j = 0; j < kPack; ++j) pack[j] = from_float<T>(v[j]);
    detail::copy_pack(x + i, pack);
    return;
  }
  for (int j = 0; j < kPack; ++j) {
    if (i + j < n) x[i + j] = from_float<T>(v[j]);
  }
}

}  // namespace bora::cuda
