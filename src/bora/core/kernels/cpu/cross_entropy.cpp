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

using Vec = hn::Vec<Wide>;

HWY_INLINE Vec mapped(Vec x, Vec bias, Vec cap, Vec inverse_cap, const HeadMap& map) {
  const Wide d;
  const auto y = hn::MulAdd(x, hn::Set(d, map.scale), bias);
  return map.soft_cap == 0 ? y : hn::Mul(cap, tanh(d, hn::Mul(y, inverse_cap)));
}

/// x = map(x); returns the greatest. `bias`: where this row's columns begin, or null.
float map_row(float* x, i64 n, const HeadMap& map) {
  const Wide d;
  const i64 width = lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto cap = hn::Set(d, map.soft_cap), inverse = hn::Set(d, 1 / map.soft_cap);
  auto most = lowest;
  i64 i = 0;
  for (; i + width <= n; i += width) {
    const auto bias = map.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, map.bias + i);
    const auto y = mapped(hn::LoadU(d, x + i), bias, cap, inverse, map);
    hn::StoreU(y, d, x + i);
    most = hn::Max(most, y);
  }
  if (const i64 left = n - i; left > 0) {
    const auto bias = map.bias == nullptr ? hn::Zero(d) : load_part(d, map.bias + i, left);
    const auto y = mapped(load_part(d, x + i, left), bias, cap, inverse, map);
    store_part(y, d, x + i, left);
    most = hn::Max(most, hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(left)), y, lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// Greatest logit of a row of products, which become logits.
float max_row(float* x, i64 n, const HeadMap& map) {
  return map.identity() ? row_max(x, n) : map_row(x, n, map);
}

/// Sum of exp(x - most). The exponentials are kept for the gradient but where that needs the logits.
double sum_row(float* x, i64 n, float most, const HeadMap& map) {
  return map.soft_cap == 0 ? exp_row<true>(x, n, most) : exp_row<false>(x, n, most);
}

HWY_INLINE Vec capped_gradient(Vec x, Vec most, Vec by, Vec inverse_cap, Vec scale) {
  const Wide d;
  const auto t = hn::Mul(x, inverse_cap);
  const auto slope = hn::Mul(scale, hn::NegMulAdd(t, t, hn::Set(d, 1.0F)));
  return hn::Mul(hn::Mul(exp(d, hn::Sub(x, most)), by), slope);
}

/// Of logits: exp(x - most)·by times the slope of the map.
void capped_gradient_row(float* x, i64 n, float most, float by, const HeadMap& map) {
  const Wide d;
  const i64 width = lanes(d);
  const auto m = hn::Set(d, most), b = hn::Set(d, by), scale = hn::Set(d, map.scale),
             inverse = hn::Set(d, 1 / map.soft_cap);
  i64 i = 0;
  for (; i + width <= n; i += width)
    hn::StoreU(capped_gradient(hn::LoadU(d, x + i), m, b, inverse, scale), d, x + i);
  if (const i64 left = n - i; left > 0)
    store_part(capped_gradient(load_part(d, x + i, left), m, b, inverse, scale), d, x + i, left);
}

/// A row that sum_row() left becomes its gradient in the products; target < 0: it is not among these columns.
void gradient_row(float* x, i64 n, float most, float by, i64 target, float weight, const HeadMap& map) {
  if (map.soft_cap == 0) {
    scale_row(x, n, by * map.scale);
    if (target >= 0) x[target] -= weight * map.scale;
    return;
  }
  const float t = target < 0 ? 0 : x[target] / map.soft_cap;
  capped_gradient_row(x, n, most, by, map);
  if (target >= 0) x[target] -= weight * map.scale * (1 - t * t);
}

/// One row; returns log sum exp. `target` < 0: no gradient.
float loss_row(float* x, i64 n, std::int32_t target, float weight, float z_loss, float* loss, bool gradient,
               const HeadMap& map) {
  const float most = max_row(x, n, map);
  const float chosen = target < 0 ? 0.0F : x[target];
  const bool keep = gradient && target >= 0;
  const double total = keep ? sum_row(x, n, most, map) : exp_row<false>(x, n, most);
  const double lse = std::log(total) + static_cast<double>(most);
  *loss = target < 0 ? 0.0F : static_cast<float>(lse - static_cast<double>(chosen));
  if (keep) {
    const double slope = static_cast<double>(weight) * (1 + 2 * static_cast<double>(z_loss) * lse);
    gradient_row(x, n, most, static_cast<float>(slope / total), target, weight, map);
  } else if (gradient) {
    std::fill(x, x + n, 0.0F);
  }
  return static_cast<float>(lse);
}

constexpr i64 kColumns = 1024;

/// sums += by·(x summed over rows), for n <= kColumns columns.
void column_sums(i64 rows, i64 n, const float* x, i64 stride, float by, float* sums) {
  const Wide d;
  const i64 width = lanes(d);
  HWY_ALIGN float total[kColumns] = {};
  for (i64 i = 0; i < rows; ++i) {
    const float* row = x + i * stride;
    i64 j = 0;
    for (; j + width <= n; j += width)
      hn::StoreU(hn::Add(hn::LoadU(d, total + j), hn::LoadU(d, row + j)), d, total + j);
    for (; j < n; ++j) total[j] += row[j];
  }
  for (i64 j = 0; j < n; ++j) sums[j] += by * total[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(loss_row);
HWY_EXPORT(max_row);
HWY_EXPORT(sum_row);
HWY_EXPORT(gradient_row);
HWY_EXPORT(column_sums);

namespace {

template <class Body>
void each_row(std::int64_t rows, std::int64_t columns, const Body& body) {
  const std::int64_t chunk = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, columns));
  for_chunks(rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace

void cross_entropy(std::int64_t rows, std::int64_t vocab, float* x, std::int64_t stride,
                   const std::int32_t* targets, const float* weights, float z_loss, float* loss, float* lse,
                   bool gradient, const HeadMap& map) {
  each_row(rows, vocab, [&](std::int64_t i) {
    lse[i] = HWY_DYNAMIC_DISPATCH(loss_row)(x + i * stride, vocab, targets[i], weights[i], z_loss, loss + i,
                                            gradient, map);
  });
}

void row_maxima(std::int64_t rows, std::int64_t columns, float* x, float* most, const HeadMap& map) {
  each_row(rows, columns,
           [&](std::int64_t i) { most[i] = HWY_DYNAMIC_DISPATCH(max_row)(x + i * columns, columns, map); });
}

void row_exponentials(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                      double* totals, const HeadMap& map) {
  each_row(rows, columns, [&](std::int64_t i) {
    totals[i] = HWY_DYNAMIC_DISPATCH(sum_row)(logits + i * columns, columns, most[i], map);
  });
}

void row_gradients(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                   const double* scale, const std::int32_t* targets, const float* weights,
                   const HeadMap& map) {
  each_row(rows, columns, [&](std::int64_t i) {
    const std::int64_t target = targets[i] < columns ? targets[i] : -1;
    HWY_DYNAMIC_DISPATCH(gradient_row)
    (logits + i * columns, columns, most[i], static_cast<float>(scale[i]), target, weights[i], map);
  });
}

void add_column_sums(std::int64_t rows, std::int64_t columns, const float* x, float by, float* sums) {
  for_chunks(columns, 1024, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sums)(rows, end - begin, x + begin, columns, by, sums + begin);
  });
}

}  // namespace bora::kernels
#endif
