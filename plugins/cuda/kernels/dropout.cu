// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "dropout.h"

#include "philox.h"

namespace bora::cuda {
namespace {

// A thread has eight places of the whole array from a multiple of eight on: two blocks of random words.
template <class T>
struct Dropout {
  static constexpr int threads = 256;
  KeyWords of;
  std::int64_t begin;  // the multiple of eight at or before the first place
  std::int64_t skip;   // places before the first one
  std::int64_t n;
  std::uint64_t threshold;
  float factor;
  const T* x;
  T* y;
  bool well;

  __device__ bool kept(std::uint32_t word) const { return word >= threshold; }

  __device__ void operator()() const {
    const std::int64_t place = (block() * threads + thread()) * kPack, i = place - skip;
    if (i >= n) return;
    const auto at = static_cast<std::uint64_t>(begin + place) / 4;
    const std::uint64_t key = of.there == nullptr ? of.key : of.there[0],
                        stream = of.there == nullptr ? of.stream : of.there[1];
    const Words two[2] = {philox(key, stream, at), philox(key, stream, at + 1)};
    if (i >= 0) {
      float v[kPack];
      load(x, i, n, well, v);
      for (int j = 0; j < kPack; ++j) v[j] = kept(two[j / 4].w[j % 4]) ? v[j] * factor : 0;
      store(v, y, i, n, well);
      return;
    }
    for (int j = 0; j < kPack; ++j) {
      if (i + j < 0 || i + j >= n) continue;
      const float v = to_float(x[i + j]);
      y[i + j] = from_float<T>(kept(two[j / 4].w[j % 4]) ? v * factor : 0);
    }
  }
};

}  // namespace

template <class T>
void dropout(const KeyWords& key, std::int64_t first, std::int64_t n, float p, const T* x, T* y,
             Stream stream) {
  const std::int64_t skip = first % kPack;
  const auto threshold = static_cast<std::uint64_t>(std::ceil(static_cast<double>(p) * 0x1p32));
  const float factor = p < 1 ? 1 / (1 - p) : 0.0F;
  launch(
      Dropout<T>{key, first - skip, skip, n, threshold, factor, x, y, skip == 0 && packs_lie_well(0, x, y)},
      n == 0 ? 0 : blocks_for(skip + n, Dropout<T>::threads * kPack), 0, stream);
}

template void dropout(const KeyWords&, std::int64_t, std::int64_t, float, const float*, float*, Stream);
template void dropout(const KeyWords&, std::int64_t, std::int64_t, float, const Bf16*, Bf16*, Stream);

}  // namespace bora::cuda
