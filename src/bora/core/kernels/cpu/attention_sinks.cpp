// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/attention_sinks.h"

#include <algorithm>
#include <cmath>

#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {
namespace {

/// A head of one row of the batch.
template <class T>
T* first_of(const HeadsRef<T>& x, const AttentionShape& shape, std::int64_t batch, std::int64_t head) {
  return x.data + batch * x.batch + head / shape.group * x.kv_head + head % shape.group * x.group;
}

std::int64_t heads_of(const AttentionShape& shape) { return shape.kv_heads * shape.group; }

}  // namespace

void begin_with_sinks(const AttentionShape& shape, const float* sinks, HeadsRef<float> out, float* lse) {
  const std::int64_t heads = heads_of(shape);
  for_chunks(shape.batch * heads, 1, [&](std::int64_t i, std::int64_t) {
    const std::int64_t head = i % heads;
    float* row = first_of(out, shape, i / heads, head);
    for (std::int64_t q = 0; q < shape.queries; ++q, row += out.position)
      std::fill_n(row, shape.head_dim, 0.0F);
    std::fill_n(lse + i * shape.queries, shape.queries, sinks[head]);
  });
}

// The sink's probability p has the value 0, so d score = p · (0 - dout·out).
void sink_gradients(const AttentionShape& shape, const float* sinks, HeadsRef<const float> out,
                    const float* lse, HeadsRef<const float> dout, float* dsinks) {
  const std::int64_t heads = heads_of(shape);
  for_chunks(heads, 1, [&](std::int64_t head, std::int64_t) {
    double sum = 0;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const float *y = first_of(out, shape, b, head), *dy = first_of(dout, shape, b, head);
      const float* l = lse + (b * heads + head) * shape.queries;
      for (std::int64_t q = 0; q < shape.queries; ++q, y += out.position, dy += dout.position) {
        float delta = 0;
        for (std::int64_t i = 0; i < shape.head_dim; ++i) delta += y[i] * dy[i];
        sum -= static_cast<double>(std::exp(sinks[head] - l[q]) * delta);
      }
    }
    dsinks[head] = static_cast<float>(sum);
  });
}

}  // namespace bora::kernels
