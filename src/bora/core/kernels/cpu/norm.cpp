// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/norm.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/norm.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

#ifndef BORA_CORE_KERNELS_NORM_CPP_ONCE
#define BORA_CORE_KERNELS_NORM_CPP_ONCE
namespace bora::kernels {
/// Operands of one row; what a kind of norm lacks is null.
struct NormRow {
  const float *x, *weight, *bias, *dy;
  float* out;              // y or dx
  float *dweight, *dbias;  // partial sums of the row's chunk
};
}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;
using Vec8 = hn::Vec<Lane8>;

/// Calls body(i, load, store) for each vector of a row of n; `load` and `store` handle the partial last one.
template <class Body>
HWY_INLINE void each_vector(i64 n, const Body& body) {
  const Lane8 d;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width) {
    body([&](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); },
         [&](Vec8 v, float* p) HWY_ATTR { hn::StoreU(v, d, p + i); });
  }
  if (const i64 rest = n - i; rest > 0) {
    body([&](const float* p) HWY_ATTR { return load_part(d, p + i, rest); },
         [&](Vec8 v, float* p) HWY_ATTR { store_part(v, d, p + i, rest); });
  }
}

float rms_forward_row(i64 n, const NormRow& r, float eps) {
  const Lane8 d;
  auto square = hn::Zero(d);
  each_vector(n, [&](auto load, auto) HWY_ATTR {
    const auto x = load(r.x);
    square = hn::MulAdd(x, x, square);
  });
  const float rstd = 1.0F / std::sqrt(sum_lanes(d, square) / static_cast<float>(n) + eps);
  const auto by = hn::Set(d, rstd);
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    auto y = hn::Mul(load(r.x), by);
    if (r.weight) y = hn::Mul(y, load(r.weight));
    store(y, r.out);
  });
  return rstd;
}

void layer_forward_row(i64 n, const NormRow& r, float eps, float* mean, float* rstd) {
  const Lane8 d;
  auto sum = hn::Zero(d);
  each_vector(n, [&](auto load, auto) HWY_ATTR { sum = hn::Add(sum, load(r.x)); });
  *mean = sum_lanes(d, sum) / static_cast<float>(n);
  const auto m = hn::Set(d, *mean);
  auto square = hn::Zero(d);
  each_vector(n / lanes(d) * lanes(d), [&](auto load, auto) HWY_ATTR {
    const auto x = hn::Sub(load(r.x), m);
    square = hn::MulAdd(x, x, square);
  });
  if (const i64 rest = n % lanes(d); rest > 0) {  // the padding must not count as zeros below the mean
    const auto x = hn::Sub(load_part(d, r.x + n - rest, rest), m);
    const auto kept = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(rest)), x);
    square = hn::MulAdd(kept, kept, square);
  }
  *rstd = 1.0F / std::sqrt(sum_lanes(d, square) / static_cast<float>(n) + eps);
  const auto by = hn::Set(d, *rstd);
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    auto y = hn::Mul(hn::Sub(load(r.x), m), by);
    if (r.weight) y = hn::Mul(y, load(r.weight));
    if (r.bias) y = hn::Add(y, load(r.bias));
    store(y, r.out);
  });
}

/// dx = rstd·(g - mean(g) - h·mean(g·h)), h the normalised row, g = dy·weight; without mean(g) if not
/// `kCentred`.
template <bool kCentred>
void backward_row(i64 n, const NormRow& r, float mean, float rstd) {
  const Lane8 d;
  const auto m = hn::Set(d, mean), by = hn::Set(d, rstd);
  auto sum = hn::Zero(d), product = hn::Zero(d);
  const auto normalised = [&](Vec8 x) HWY_ATTR { return hn::Mul(kCentred ? hn::Sub(x, m) : x, by); };
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    const auto dy = load(r.dy), h = normalised(load(r.x));
    const auto g = r.weight ? hn::Mul(dy, load(r.weight)) : dy;
    if constexpr (kCentred) sum = hn::Add(sum, g);
    product = hn::MulAdd(g, h, product);
    if (r.dweight) store(hn::MulAdd(dy, h, load(r.dweight)), r.dweight);
    if (r.dbias) store(hn::Add(dy, load(r.dbias)), r.dbias);
  });
  const float over = 1.0F / static_cast<float>(n);
  const auto mean_g = hn::Set(d, sum_lanes(d, sum) * over),
             mean_gh = hn::Set(d, sum_lanes(d, product) * over);
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    const auto dy = load(r.dy), h = normalised(load(r.x));
    auto g = r.weight ? hn::Mul(dy, load(r.weight)) : dy;
    if constexpr (kCentred) g = hn::Sub(g, mean_g);
    store(hn::Mul(by, hn::NegMulAdd(h, mean_gh, g)), r.out);
  });
}

void rms_backward_row(i64 n, const NormRow& r, float rstd) { backward_row<false>(n, r, 0, rstd); }
void layer_backward_row(i64 n, const NormRow& r, float mean, float rstd) {
  backward_row<true>(n, r, mean, rstd);
}

void accumulate_row(i64 n, const float* x, float* into) {
  const Wide d;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width)
    hn::StoreU(hn::Add(hn::LoadU(d, into + i), hn::LoadU(d, x + i)), d, into + i);
  for (; i < n; ++i) into[i] += x[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(rms_forward_row);
HWY_EXPORT(layer_forward_row);
HWY_EXPORT(rms_backward_row);
HWY_EXPORT(layer_backward_row);
HWY_EXPORT(accumulate_row);

using i64 = std::int64_t;

/// Rows of one unit of forward work.
i64 forward_chunk(i64 n) { return std::max<i64>(1, 8192 / std::max<i64>(1, n)); }

/// Rows that share one partial column sum: about 32 chunks, of at least 16 rows.
i64 column_chunk(i64 rows) { return std::max<i64>(16, (rows + 31) / 32); }

/// Runs body(row, partial) over chunks of rows, `partial` being the chunk's own zeroed `columns` sums, and
/// adds the chunks' sums into out in order of rows. No columns: no sums.
template <class Body>
void with_column_sums(i64 rows, i64 columns, float* out, const Body& body) {
  const i64 chunk = column_chunk(rows), chunks = (rows + chunk - 1) / chunk;
  float* partial = columns ? scratch(Scratch::shared, chunks * columns) : nullptr;
  for_chunks(rows, chunk, [&](i64 begin, i64 end) {
    float* sums = partial + begin / chunk * columns;
    std::fill(sums, sums + columns, 0.0F);
    for (i64 i = begin; i < end; ++i) body(i, sums);
  });
  for_chunks(columns, 4096, [&](i64 begin, i64 end) {
    std::fill(out + begin, out + end, 0.0F);
    for (i64 c = 0; c < chunks; ++c) {
      HWY_DYNAMIC_DISPATCH(accumulate_row)(end - begin, partial + c * columns + begin, out + begin);
    }
  });
}

/// Room on this thread for the rows of three arrays as fp32, where one of them holds bfloat16s.
class RowRoom {
 public:
  RowRoom(i64 n, std::initializer_list<Values> read, Results written) : n_(n) {
    const bool any =
        written.halves || std::any_of(read.begin(), read.end(), [](auto& v) { return v.halves; });
    if (any) room_ = scratch(Scratch::row, 3 * n);
  }
  const float* read(Values v, i64 row, i64 which) const { return v.wide(row * n_, n_, part(which)); }
  float* place(Results r, i64 row) const { return r.wide(row * n_, part(2)); }
  void keep(Results r, i64 row) const { r.keep(row * n_, n_, part(2)); }

 private:
  float* part(i64 which) const { return room_ == nullptr ? nullptr : room_ + which * n_; }

  i64 n_;
  float* room_ = nullptr;
};

}  // namespace

void rms_norm_forward(i64 rows, i64 n, Values x, const float* weight, float eps, Results y, float* rstd) {
  for_chunks(rows, forward_chunk(n), [&](i64 begin, i64 end) {
    const RowRoom room(n, {x}, y);
    for (i64 i = begin; i < end; ++i) {
      const NormRow row{room.read(x, i, 0), weight, nullptr, nullptr, room.place(y, i), nullptr, nullptr};
      rstd[i] = HWY_DYNAMIC_DISPATCH(rms_forward_row)(n, row, eps);
      room.keep(y, i);
    }
  });
}

void rms_norm_backward(i64 rows, i64 n, Values x, const float* weight, const float* rstd, Values dy,
                       Results dx, float* dweight) {
  with_column_sums(rows, dweight ? n : 0, dweight, [&](i64 i, float* sums) {
    const RowRoom room(n, {x, dy}, dx);
    const NormRow row{room.read(x, i, 0),       weight, nullptr, room.read(dy, i, 1), room.place(dx, i),
                      dweight ? sums : nullptr, nullptr};
    HWY_DYNAMIC_DISPATCH(rms_backward_row)(n, row, rstd[i]);
    room.keep(dx, i);
  });
}

void layer_norm_forward(i64 rows, i64 n, Values x, const float* weight, const float* bias, float eps,
                        Results y, float* mean, float* rstd) {
  for_chunks(rows, forward_chunk(n), [&](i64 begin, i64 end) {
    const RowRoom room(n, {x}, y);
    for (i64 i = begin; i < end; ++i) {
      const NormRow row{room.read(x, i, 0), weight, bias, nullptr, room.place(y, i), nullptr, nullptr};
      HWY_DYNAMIC_DISPATCH(layer_forward_row)(n, row, eps, mean + i, rstd + i);
      room.keep(y, i);
    }
  });
}

void layer_norm_backward(i64 rows, i64 n, Values x, const float* weight, const float* mean, const float* rstd,
                         Values dy, Results dx, float* dweight, float* dbias) {
  float* sums_out = scratch(Scratch::partial, 2 * n);
  with_column_sums(rows, dweight || dbias ? 2 * n : 0, sums_out, [&](i64 i, float* sums) {
    const RowRoom room(n, {x, dy}, dx);
    const NormRow row{room.read(x, i, 0),
                      weight,
                      nullptr,
                      room.read(dy, i, 1),
                      room.place(dx, i),
                      dweight ? sums : nullptr,
                      dbias ? sums + n : nullptr};
    HWY_DYNAMIC_DISPATCH(layer_backward_row)(n, row, mean[i], rstd[i]);
    room.keep(dx, i);
  });
  if (dweight) std::copy(sums_out, sums_out + n, dweight);
  if (dbias) std::copy(sums_out + n, sums_out + 2 * n, dbias);
}

void column_sums(i64 rows, i64 n, Values x, float* out) {
  with_column_sums(rows, n, out, [&](i64 i, float* sums) {
    const RowRoom room(n, {x}, {});
    HWY_DYNAMIC_DISPATCH(accumulate_row)(n, room.read(x, i, 0), sums);
  });
}

}  // namespace bora::kernels
#endif
