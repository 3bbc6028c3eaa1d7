// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "threads.h"

namespace bora::cuda {

/// out [n] = sum of the rows of x [rows, n]: eight sums of every eighth row, added in pairs.
struct ColumnSums {
  static constexpr int threads = 256, columns = kWarp, parts = threads / columns;
  static constexpr std::int64_t shared_bytes = threads * sizeof(float);
  std::int64_t rows, n;
  const float* x;
  float* out;

  __device__ void operator()() const {
    auto* room = shared<float>();
    const std::int64_t column = block() * columns + thread() % columns;
    float sum = 0;
    if (column < n) {
      for (std::int64_t r = thread() / columns; r < rows; r += parts) sum += x[r * n + column];
    }
    for (int half = parts / 2; half > 0; half /= 2) {
      room[thread()] = sum;
      sync();
      if (thread() < half * columns) sum += room[thread() + half * columns];
      sync();
    }
    if (thread() < columns && column < n) out[column] = sum;
  }
};

}  // namespace bora::cuda
