// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "rope.h"

namespace bora::cuda {
namespace {

// One array: packs of pairs of a vector, all its packs, and the blocks that it takes.
template <class T>
struct RopeItem {
  kernels::RopeShape s;
  std::int64_t turns, each, blocks;
  const T* x;
  T* y;
  bool well;
};

// A thread turns eight pairs of a head's vector, or copies eight elements behind the pairs.
template <class T>
struct Rope {
  static constexpr int threads = 256;
  RopeItem<T> items[2];
  const float* cos;
  const float* sin;
  float sign;

  // x1·cos - x2·sin and x2·cos + x1·sin, rounded as on the CPU.
  __device__ static void turn(float (&a)[kPack], float (&b)[kPack], const float (&c)[kPack],
                              const float (&d)[kPack], float sign) {
    for (int j = 0; j < kPack; ++j) {
      const float first = a[j], second = b[j], angle = sign * d[j];
      a[j] = fmaf(-second, angle, first * c[j]);
      b[j] = fmaf(first, angle, second * c[j]);
    }
  }

  __device__ void operator()() const {
    const bool second = block() >= items[0].blocks;
    const RopeItem<T>& item = items[second ? 1 : 0];
    const kernels::RopeShape& s = item.s;
    const std::int64_t turns = item.turns, each = item.each;
    const T* const x = item.x;
    T* const y = item.y;
    const bool well = item.well;
    const std::int64_t at = (block() - (second ? items[0].blocks : 0)) * threads + thread(),
                       vector = at / each, pack = at % each;
    if (vector >= s.batch * s.positions * s.heads) return;
    const std::int64_t head = vector % s.heads, row = vector / s.heads, position = row % s.positions,
                       batch = row / s.positions;
    const T* from = x + batch * s.x_batch + position * s.x_position + head * s.x_head;
    T* to = y + batch * s.y_batch + position * s.y_position + head * s.y_head;
    float a[kPack], b[kPack];
    if (pack >= turns) {  // what is not turned
      const std::int64_t i = 2 * s.half + (pack - turns) * kPack;
      load(from, i, s.dim, well, a);
      store(a, to, i, s.dim, well);
      return;
    }
    const std::int64_t i = pack * kPack;
    float c[kPack], d[kPack];
    load(cos + position * s.half, i, s.half, well, c);
    load(sin + position * s.half, i, s.half, well, d);
    if (s.neighbours) {
      float pairs[2][kPack];
      load(from, 2 * i, 2 * s.half, well, pairs[0]);
      load(from, 2 * i + kPack, 2 * s.half, well, pairs[1]);
      for (int j = 0; j < kPack; ++j) {
        a[j] = pairs[j / (kPack / 2)][2 * j % kPack];
        b[j] = pairs[j / (kPack / 2)][2 * j % kPack + 1];
      }
      turn(a, b, c, d, sign);
      for (int j = 0; j < kPack; ++j) {
        pairs[j / (kPack / 2)][2 * j % kPack] = a[j];
        pairs[j / (kPack / 2)][2 * j % kPack + 1] = b[j];
      }
      store(pairs[0], to, 2 * i, 2 * s.half, well);
      store(pairs[1], to, 2 * i + kPack, 2 * s.half, well);
      return;
    }
    load(from, i, s.half, well, a);
    load(from + s.half, i, s.half, well, b);
    turn(a, b, c, d, sign);
    store(a, to, i, s.half, well);
    store(b, to + s.half, i, s.half, well);
  }
};

}  // namespace

template <class T>
void rope(std::int64_t count, const kernels::Turned* arrays, const float* cos, const float* sin, bool inverse,
          Stream stream) {
  Rope<T> kernel{{}, cos, sin, inverse ? -1.0F : 1.0F};
  std::int64_t blocks = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const kernels::RopeShape& s = arrays[i].shape;
    const auto* x = static_cast<const T*>(arrays[i].x);
    auto* y = static_cast<T*>(arrays[i].y);
    const std::int64_t turns = blocks_for(s.half, kPack),
                       each = turns + blocks_for(s.dim - 2 * s.half, kPack);
    // of one row all are multiples of a pack if each is
    const std::int64_t row =
        s.half | s.x_batch | s.x_position | s.x_head | s.y_batch | s.y_position | s.y_head;
    const std::int64_t own = blocks_for(s.batch * s.positions * s.heads * each, Rope<T>::threads);
    kernel.items[i] = {s, turns, each, own, x, y, packs_lie_well(row, x, cos, sin, y)};
    blocks += own;
  }
  launch(kernel, blocks, 0, stream);
}

template void rope<float>(std::int64_t, const kernels::Turned*, const float*, const float*, bool, Stream);
template void rope<Bf16>(std::int64_t, const kernels::Turned*, const float*, const float*, bool, Stream);

}  // namespace bora::cuda
