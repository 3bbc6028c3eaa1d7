// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "threads.h"

namespace bora::cuda {

/// out [n] = sum of the rows of x [rows, n]: eight sums of every eighth row, added in pairs. `second`, if it is not
/// null: the same of the rows behind them, by as many blocks more.
struct ColumnSums {
  static constexpr int threads = 256, columns = kWarp, parts = threads / columns;
  static constexpr std::int64_t shared_bytes = threads * sizeof(float);
  std::int64_t rows, n;
  const float* x;
  float* out;
  float* second;

  std::int64_t blocks() const { return blocks_for(n, columns) * (second == nullptr ? 1 : 2); }

  __device__ void operator()() const {
    auto* room = shared<float>();
    const std::int64_t each = (n + columns - 1) / columns;
    const bool of_second = block() >= each;
    const std::int64_t column = (block() - (of_second ? each : 0)) * columns + thread() % columns;
    const float* from = of_second ? x + rows * n : x;
    float sum = 0;
    if (column < n) {
      for (std::int64_t r = thread() / columns; r < rows; r += parts) sum += from[r * n + column];
    }
    for (int half = parts / 2; half > 0; half /= 2) {
      room[thread()] = sum;
      sync();
      if (thread() < half * columns) sum += room[thread() + half * columns];
      sync();
    }
    if (thread() < columns && column < n) (of_second ? second : out)[column] = sum;
  }
};

}  // namespace bora::cuda
