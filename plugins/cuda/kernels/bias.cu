// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A block for each 256 rows of 256 columns: each of its warps adds up every eighth row, then the warps' sums are added in
// pairs. What the blocks of a column find, another kernel adds up.
#include "bias.h"

#include "column_sums.h"

namespace bora::cuda {
namespace {

constexpr std::int64_t kRows = 256;  // of a block

template <class T>
struct BiasOfRows {
  static constexpr int threads = 256, warps = threads / kWarp, at_once = 4;
  static constexpr std::int64_t columns = std::int64_t{kWarp} * kPack;
  static constexpr std::int64_t shared_bytes = warps * columns * sizeof(float);
  Bias<T> a;
  std::int64_t across;  // blocks beside each other
  bool well;

  // Of every eighth row from `first` on; rows that are not there are zeros.
  __device__ void add_rows(std::int64_t first, std::int64_t end, std::int64_t i, float (&sum)[kPack]) const {
    for (std::int64_t row = first; row < end; row += at_once * warps) {
      alignas(16) T packs[at_once][kPack];
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t at = row + k * warps;
        load_stored(a.x + (at < end ? at : row) * a.stride, i, at < end ? a.n : 0, well, packs[k]);
      }
      for (int k = 0; k < at_once; ++k)
        for (int j = 0; j < kPack; ++j) sum[j] += to_float(packs[k][j]);
    }
  }

  __device__ void operator()() const {
    auto* room = shared<float>();
    const int warp = thread() / kWarp, lane = thread() % kWarp;
    const std::int64_t begin = block() / across * kRows, end = begin + kRows < a.rows ? begin + kRows : a.rows;
    const std::int64_t i = block() % across * columns + std::int64_t{lane} * kPack;
    float sum[kPack] = {};
    if (i < a.n) add_rows(begin + warp, end, i, sum);
    for (int half = warps / 2; half > 0; half /= 2) {
      float* mine = room + warp % half * columns + lane * kPack;
      if (warp >= half && warp < 2 * half)
        for (int j = 0; j < kPack; ++j) mine[j] = sum[j];
      sync();
      if (warp < half)
        for (int j = 0; j < kPack; ++j) sum[j] += mine[j];
      sync();
    }
    if (warp == 0 && i < a.n) store(sum, a.room + block() / across * a.n, i, a.n, false);
  }
};

}  // namespace

std::int64_t bias_room(std::int64_t rows, std::int64_t n) { return blocks_for(rows, kRows) * n; }

template <class T>
void bias_gradient(const Bias<T>& a, Stream stream) {
  using Kernel = BiasOfRows<T>;
  const std::int64_t parts = blocks_for(a.rows, kRows), across = blocks_for(a.n, Kernel::columns);
  launch(Kernel{a, across, packs_lie_well(a.stride, a.x)}, parts * across, Kernel::shared_bytes, stream);
  const ColumnSums all{parts, a.n, a.room, a.out, nullptr};
  launch(all, all.blocks(), ColumnSums::shared_bytes, stream);
}

template void bias_gradient(const Bias<float>&, Stream);
template void bias_gradient(const Bias<Bf16>&, Stream);

}  // namespace bora::cuda
