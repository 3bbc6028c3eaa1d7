// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/cross_entropy.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

float row_max(const float* x, i64 n) {
  const Lane8 d;
  const i64 width = lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto a = lowest, b = lowest;
  i64 i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + width));
  }
  float most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

/// Sum of exp(x - most) over a block; the exponentials are kept in x if `kKeep`.
template <bool kKeep>
HWY_INLINE float exp_block(float* x, i64 n, float most) {
  const Lane8 d;
  const i64 width = lanes(d);
  const auto m = hn::Set(d, most);
  auto a = hn::Zero(d), b = hn::Zero(d);
  i64 i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    const auto e = exp(d, hn::Sub(hn::LoadU(d, x + i), m));
    const auto f = exp(d, hn::Sub(hn::LoadU(d, x + i + width), m));
    if constexpr (kKeep) {
      hn::StoreU(e, d, x + i);
      hn::StoreU(f, d, x + i + width);
    }
    a = hn::Add(a, e);
    b = hn::Add(b, f);
  }
  for (; i < n; i += width) {
    const i64 left = std::min(width, n - i);
    const auto e = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(left)),
                                      exp(d, hn::Sub(load_part(d, x + i, left), m)));
    if constexpr (kKeep) store_part(e, d, x + i, left);
    a = hn::Add(a, e);
  }
  return sum_lanes(d, hn::Add(a, b));
}

template <bool kKeep>
double exp_row(float* x, i64 n, float most) {
  constexpr i64 kBlock = 1024;  // fp32 inside a block, double between blocks
  double total = 0;
  for (i64 i = 0; i < n; i += kBlock) {
    total += static_cast<double>(exp_block<kKeep>(x + i, std::min(kBlock, n - i), most));
  }
  return total;
}

void scale_row(float* x, i64 n, float by) {
  const Wide d;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, by)), d, x + i);
  for (; i < n; ++i) x[i] *= by;
}

/// One row; returns log sum exp. `target` < 0: no gradient.
float loss_row(float* x, i64 n, std::int32_t target, float weight, float z_loss, float* loss, bool gradient) {
  const float most = row_max(x, n);
  const float chosen = target < 0 ? 0.0F : x[target];
  const bool keep = gradient && target >= 0;
  const double total = keep ? exp_row<true>(x, n, most) : exp_row<false>(x, n, most);
  const double lse = std::log(total) + static_cast<double>(most);
  *loss = target < 0 ? 0.0F : static_cast<float>(lse - static_cast<double>(chosen));
  if (keep) {
    const double slope = static_cast<double>(weight) * (1 + 2 * static_cast<double>(z_loss) * lse);
    scale_row(x, n, static_cast<float>(slope / total));
    x[target] -= weight;
  } else if (gradient) {
    std::fill(x, x + n, 0.0F);
  }
  return static_cast<float>(lse);
}

double exponential_row(float* x, i64 n, float most) { return exp_row<true>(x, n, most); }

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(loss_row);
HWY_EXPORT(row_max);
HWY_EXPORT(exponential_row);
HWY_EXPORT(scale_row);

namespace {

template <class Body>
void each_row(std::int64_t rows, std::int64_t columns, const Body& body) {
  const std::int64_t chunk = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, columns));
  for_chunks(rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace

void cross_entropy(std::int64_t rows, std::int64_t vocab, float* logits, std::int64_t stride,
                   const std::int32_t* targets, const float* weights, float z_loss, float* loss, float* lse,
                   bool gradient) {
  each_row(rows, vocab, [&](std::int64_t i) {
    lse[i] = HWY_DYNAMIC_DISPATCH(loss_row)(logits + i * stride, vocab, targets[i], weights[i], z_loss,
                                            loss + i, gradient);
  });
}

void row_maxima(std::int64_t rows, std::int64_t columns, const float* logits, float* most) {
  each_row(rows, columns,
           [&](std::int64_t i) { most[i] = HWY_DYNAMIC_DISPATCH(row_max)(logits + i * columns, columns); });
}

void row_exponentials(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                      double* totals) {
  each_row(rows, columns, [&](std::int64_t i) {
    totals[i] = HWY_DYNAMIC_DISPATCH(exponential_row)(logits + i * columns, columns, most[i]);
  });
}

void row_gradients(std::int64_t rows, std::int64_t columns, float* logits, const double* scale,
                   const std::int32_t* targets, const float* weights) {
  each_row(rows, columns, [&](std::int64_t i) {
    float* row = logits + i * columns;
    HWY_DYNAMIC_DISPATCH(scale_row)(row, columns, static_cast<float>(scale[i]));
    if (targets[i] >= 0 && targets[i] < columns) row[targets[i]] -= weights[i];
  });
}

}  // namespace bora::kernels
#endif
