// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/activation.h"

#include <algorithm>

#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/activation.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/activation-inl.h"
#include "bora/core/kernels/cpu/math-inl.h"

#ifndef BORA_CORE_KERNELS_ACTIVATION_CPP_ONCE
#define BORA_CORE_KERNELS_ACTIVATION_CPP_ONCE
namespace bora::kernels {
/// The operands of all four loops; one that a loop does not have is null.
struct ActivationArrays {
  const float *x, *up, *dy;
  float *out, *dup;
};
}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;
using Arrays = ActivationArrays;

struct WholeVector {
  static HWY_INLINE WideVec load(const float* p, i64) { return hn::LoadU(Wide(), p); }
  static HWY_INLINE void store(WideVec v, float* p, i64) { hn::StoreU(v, Wide(), p); }
};
struct PartVector {
  static HWY_INLINE WideVec load(const float* p, i64 n) { return load_part(Wide(), p, n); }
  static HWY_INLINE void store(WideVec v, float* p, i64 n) { store_part(v, Wide(), p, n); }
};

struct Forward {
  template <class F, class Io>
  static HWY_INLINE void at(const Arrays& a, i64 i, i64 n) {
    Io::store(F::value(Io::load(a.x + i, n)), a.out + i, n);
  }
};

struct Backward {
  template <class F, class Io>
  static HWY_INLINE void at(const Arrays& a, i64 i, i64 n) {
    WideVec value, slope;
    F::both(Io::load(a.x + i, n), value, slope);
    Io::store(hn::Mul(Io::load(a.dy + i, n), slope), a.out + i, n);
  }
};

struct GatedForward {
  template <class F, class Io>
  static HWY_INLINE void at(const Arrays& a, i64 i, i64 n) {
    Io::store(hn::Mul(F::value(Io::load(a.x + i, n)), Io::load(a.up + i, n)), a.out + i, n);
  }
};

struct GatedBackward {
  template <class F, class Io>
  static HWY_INLINE void at(const Arrays& a, i64 i, i64 n) {
    WideVec value, slope;
    F::both(Io::load(a.x + i, n), value, slope);
    const auto g = Io::load(a.dy + i, n), up = Io::load(a.up + i, n);
    Io::store(hn::Mul(g, value), a.dup + i, n);
    Io::store(hn::Mul(hn::Mul(g, up), slope), a.out + i, n);
  }
};

template <class Op, class F>
void each(const Arrays& a, i64 begin, i64 end) {
  const i64 width = lanes(Wide());
  i64 i = begin;
  for (; i + width <= end; i += width) Op::template at<F, WholeVector>(a, i, width);
  if (i < end) Op::template at<F, PartVector>(a, i, end - i);
}

template <class Op>
void each(Activation f, const Arrays& a, i64 begin, i64 end) {
  switch (f) {
    case Activation::silu:
      return each<Op, Silu>(a, begin, end);
    case Activation::gelu_tanh:
      return each<Op, GeluTanh>(a, begin, end);
    case Activation::gelu:
      return each<Op, GeluErf>(a, begin, end);
    case Activation::quick_gelu:
      return each<Op, QuickGelu>(a, begin, end);
    case Activation::relu:
      return each<Op, Relu>(a, begin, end);
    case Activation::sigmoid:
      return each<Op, Sigmoid>(a, begin, end);
    case Activation::tanh:
      return each<Op, Tanh>(a, begin, end);
  }
}

void forward_range(Activation f, const Arrays& a, i64 begin, i64 end) { each<Forward>(f, a, begin, end); }
void backward_range(Activation f, const Arrays& a, i64 begin, i64 end) { each<Backward>(f, a, begin, end); }
void gated_range(Activation f, const Arrays& a, i64 begin, i64 end) { each<GatedForward>(f, a, begin, end); }
void gated_backward_range(Activation f, const Arrays& a, i64 begin, i64 end) {
  each<GatedBackward>(f, a, begin, end);
}

void add_bias_row(i64 n, const float* bias, float* x) {
  const Wide d;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width)
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, bias + i)), d, x + i);
  for (; i < n; ++i) x[i] += bias[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(forward_range);
HWY_EXPORT(backward_range);
HWY_EXPORT(gated_range);
HWY_EXPORT(gated_backward_range);
HWY_EXPORT(add_bias_row);

constexpr std::int64_t kChunk = 8192;
constexpr std::int64_t kPiece = 1024;  // of bfloat16s: as fp32, five arrays of them fit the first cache

void forward_range_here(Activation f, const ActivationArrays& a, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(forward_range)(f, a, begin, end);
}
void backward_range_here(Activation f, const ActivationArrays& a, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(backward_range)(f, a, begin, end);
}
void gated_range_here(Activation f, const ActivationArrays& a, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(gated_range)(f, a, begin, end);
}
void gated_backward_range_here(Activation f, const ActivationArrays& a, std::int64_t begin,
                               std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(gated_backward_range)(f, a, begin, end);
}

using Range = void (*)(Activation, const ActivationArrays&, std::int64_t, std::int64_t);

/// The operands of ActivationArrays, of either type.
struct ActivationOperands {
  Values x, up, dy;
  Results out, dup;
  bool has_halves() const { return x.halves || up.halves || dy.halves || out.halves || dup.halves; }
};

void in_chunks(Range range, Activation f, std::int64_t n, const ActivationOperands& o) {
  const std::int64_t step = o.has_halves() ? kPiece : kChunk;
  for_chunks(n, kChunk, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) float room[5][kPiece];
    for (std::int64_t at = begin; at < end; at += step) {
      const std::int64_t count = std::min(step, end - at);
      const ActivationArrays a{o.x.wide(at, count, room[0]), o.up.wide(at, count, room[1]),
                               o.dy.wide(at, count, room[2]), o.out.wide(at, room[3]),
                               o.dup.wide(at, room[4])};
      range(f, a, 0, count);
      o.out.keep(at, count, room[3]);
      o.dup.keep(at, count, room[4]);
    }
  });
}

}  // namespace

void activate(Activation f, std::int64_t n, Values x, Results y) {
  in_chunks(forward_range_here, f, n, {.x = x, .up = {}, .dy = {}, .out = y, .dup = {}});
}

void activate_backward(Activation f, std::int64_t n, Values x, Values dy, Results dx) {
  in_chunks(backward_range_here, f, n, {.x = x, .up = {}, .dy = dy, .out = dx, .dup = {}});
}

void gated(Activation f, std::int64_t n, Values gate, Values up, Results y) {
  in_chunks(gated_range_here, f, n, {.x = gate, .up = up, .dy = {}, .out = y, .dup = {}});
}

void gated_backward(Activation f, std::int64_t n, Values gate, Values up, Values dy, Results dgate,
                    Results dup) {
  in_chunks(gated_backward_range_here, f, n, {.x = gate, .up = up, .dy = dy, .out = dgate, .dup = dup});
}

void add_bias(std::int64_t rows, std::int64_t n, const float* bias, float* x) {
  const std::int64_t chunk = std::max<std::int64_t>(1, 2 * kChunk / std::max<std::int64_t>(1, n));
  for_chunks(rows, chunk, [&](auto begin, auto end) {
    for (auto i = begin; i < end; ++i) HWY_DYNAMIC_DISPATCH(add_bias_row)(n, bias, x + i * n);
  });
}

}  // namespace bora::kernels
#endif
