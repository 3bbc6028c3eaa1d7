// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A block for each two packs of columns, of which it reads 256 rows at a time: each thread adds up one pack of every 256th
// row, then threads, warps and halves of warps are added in pairs. No sum needs another block.
#include "bias.h"

#include "reduce.h"

namespace bora::cuda {
namespace {

template <class T>
struct BiasOfColumns {
  static constexpr int threads = 512, across = 2, down = threads / across, at_once = 4;
  static constexpr int warps = threads / kWarp, columns = across * kPack;
  static constexpr std::int64_t shared_bytes = warps * columns * sizeof(float);
  Bias<T> a;
  bool well;

  // Of every 256th row from this thread's on; rows that are not there are zeros.
  __device__ void add_rows(std::int64_t i, float (&sum)[kPack]) const {
    for (std::int64_t row = thread() / across; row < a.rows; row += at_once * down) {
      alignas(16) T packs[at_once][kPack];
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t at = row + k * down;
        load_stored(a.x + (at < a.rows ? at : row) * a.stride, i, at < a.rows ? a.n : 0, well, packs[k]);
      }
      for (int k = 0; k < at_once; ++k)
        for (int j = 0; j < kPack; ++j) sum[j] += to_float(packs[k][j]);
    }
  }

  __device__ void operator()() const {
    auto* room = shared<float>();
    const int pack = thread() % across, warp = thread() / kWarp;
    const std::int64_t first = block() * columns;
    float sum[kPack] = {};
    if (first + pack * kPack < a.n) add_rows(first + pack * kPack, sum);
    for (int j = 0; j < kPack; ++j) {
      for (int d = kWarp / 2; d >= across; d /= 2) sum[j] += shuffle_xor(sum[j], d);
      if (thread() % kWarp < across) room[warp * columns + pack * kPack + j] = sum[j];
    }
    sync();
    if (thread() >= columns || first + thread() >= a.n) return;
    float pairs[warps];
    for (int w = 0; w < warps; ++w) pairs[w] = room[w * columns + thread()];
    for (int half = warps / 2; half > 0; half /= 2)
      for (int w = 0; w < half; ++w) pairs[w] += pairs[w + half];
    a.out[first + thread()] = pairs[0];
  }
};

}  // namespace

template <class T>
void bias_gradient(const Bias<T>& a, Stream stream) {
  using Kernel = BiasOfColumns<T>;
  launch(Kernel{a, packs_lie_well(a.stride, a.x)}, blocks_for(a.n, Kernel::columns), Kernel::shared_bytes,
         stream);
}

template void bias_gradient(const Bias<float>&, Stream);
template void bias_gradient(const Bias<Bf16>&, Stream);

}  // namespace bora::cuda
