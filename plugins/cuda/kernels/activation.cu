// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "activation.h"

#include "largest.h"

namespace bora::cuda {
namespace {

struct Both {
  float value, slope;
};

// For large -x it is 0, as exp is infinite.
__device__ inline float logistic(float x) { return 1 / (1 + expf(-x)); }
// x·s(u) with s the logistic function and `inner` the derivative of u.
__device__ inline Both swish(float x, float u, float inner) {
  const float s = logistic(u);
  return {x * s, s + x * s * (1 - s) * inner};
}

struct Silu {
  __device__ static Both at(float x) { return swish(x, x, 1); }
};
struct QuickGelu {
  __device__ static Both at(float x) { return swish(x, 1.702F * x, 1.702F); }
};
struct GeluTanh {  // x/2·(1 + tanh(u)) = x·s(2u), u = sqrt(2/π)·(x + 0.044715·x³)
  __device__ static Both at(float x) {
    constexpr float kTwo = 1.5957691216F, kCubic = 0.07135481283F;
    return swish(x, x * (kTwo + kCubic * x * x), kTwo + 3 * kCubic * x * x);
  }
};
struct Gelu {
  __device__ static Both at(float x) {
    const float phi = 0.5F * erfcf(-0.70710678118654752F * x);
    return {x * phi, phi + x * 0.3989422804F * expf(-0.5F * x * x)};
  }
};
struct Relu {
  __device__ static Both at(float x) { return {x < 0 ? 0 : x, x > 0 ? 1.0F : 0.0F}; }
};
struct Sigmoid {
  __device__ static Both at(float x) {
    const float s = logistic(x);
    return {s, s * (1 - s)};
  }
};
struct Tanh {
  __device__ static Both at(float x) {
    const float t = tanhf(x);
    return {t, 1 - t * t};
  }
};

// This thread's pack of a row.
struct Place {
  std::int64_t row, column;
};
__device__ inline Place place(std::int64_t n, std::int64_t rows, int threads) {
  const std::int64_t i = block() * threads + thread();
  if (rows == 1) return {0, i * kPack};
  const std::int64_t packs = (n + kPack - 1) / kPack, row = i / packs;
  return {row, (i - row * packs) * kPack};
}
std::int64_t blocks_of(const GatedRows& r, int threads) {
  return blocks_for(r.rows * blocks_for(r.n, kPack), threads);
}

template <class F, class T>
struct Forward {
  static constexpr int threads = 256;
  GatedRows r;
  const T* x;
  const T* up;  // null: not gated
  T* y;
  float* largest;  // null: not asked for
  bool well;

  __device__ void operator()() const {
    const unsigned most = one_pack();
    if (largest != nullptr) give_largest<threads>(most, largest);
  }
  __device__ unsigned one_pack() const {
    const auto [row, i] = place(r.n, r.rows, threads);
    if (row >= r.rows || i >= r.n) return 0;
    float v[kPack], u[kPack];
    load(x + row * r.apart, i, r.n, well, v);
    for (int j = 0; j < kPack; ++j) v[j] = F::at(v[j]).value;
    if (up != nullptr) {
      load(up + row * r.apart, i, r.n, well, u);
      for (int j = 0; j < kPack; ++j) v[j] *= u[j];
    }
    store(v, y + row * r.n, i, r.n, well);
    return largest == nullptr ? 0 : largest_with<T>(0, v, r.n - i);
  }
};

template <class F, class T>
struct Backward {
  static constexpr int threads = 256;
  GatedRows r;
  const T* x;
  const T* up;  // null: not gated
  const T* dy;
  T* dx;
  T* dup;
  float* largest;  // null: not asked for
  bool well;

  __device__ void operator()() const {
    const unsigned most = one_pack();
    if (largest != nullptr) give_largest<threads>(most, largest);
  }
  __device__ unsigned one_pack() const {
    const auto [row, i] = place(r.n, r.rows, threads);
    if (row >= r.rows || i >= r.n) return 0;
    float v[kPack], g[kPack], u[kPack];
    load(x + row * r.apart, i, r.n, well, v);
    load(dy + row * r.n, i, r.n, well, g);
    if (up != nullptr) load(up + row * r.apart, i, r.n, well, u);
    for (int j = 0; j < kPack; ++j) {
      const Both f = F::at(v[j]);
      v[j] = g[j] * f.slope;
      if (up == nullptr) continue;
      v[j] *= u[j];
      u[j] = g[j] * f.value;
    }
    store(v, dx + row * r.gradients_apart, i, r.n, well);
    if (up != nullptr) store(u, dup + row * r.gradients_apart, i, r.n, well);
    if (largest == nullptr) return 0;
    const unsigned most = largest_with<T>(0, v, r.n - i);
    return up == nullptr ? most : largest_with<T>(most, u, r.n - i);
  }
};

template <class Start>
void with(Activation f, const Start& start) {
  switch (f) {
    case Activation::silu:
      return start(Silu());
    case Activation::gelu:
      return start(Gelu());
    case Activation::gelu_tanh:
      return start(GeluTanh());
    case Activation::quick_gelu:
      return start(QuickGelu());
    case Activation::relu:
      return start(Relu());
    case Activation::sigmoid:
      return start(Sigmoid());
    case Activation::tanh:
      return start(Tanh());
  }
}

}  // namespace

template <class T>
void gated(Activation f, const GatedRows& rows, const T* gate, const T* up, T* y, Stream stream,
           float* largest) {
  with(f, [&](auto function) {
    using Kernel = Forward<decltype(function), T>;
    const bool well = rows.rows == 1 || (rows.n % kPack == 0 && rows.apart % kPack == 0);
    launch(Kernel{rows, gate, up, y, largest, well && packs_lie_well(0, gate, up, y)},
           blocks_of(rows, Kernel::threads), kLargestBytes, stream);
  });
}

template <class T>
void gated_backward(Activation f, const GatedRows& rows, const T* gate, const T* up, const T* dy, T* dgate,
                    T* dup, Stream stream, float* largest) {
  with(f, [&](auto function) {
    using Kernel = Backward<decltype(function), T>;
    const bool well = rows.rows == 1 ||
                      (rows.n % kPack == 0 && rows.apart % kPack == 0 && rows.gradients_apart % kPack == 0);
    launch(
        Kernel{rows, gate, up, dy, dgate, dup, largest, well && packs_lie_well(0, gate, up, dy, dgate, dup)},
        blocks_of(rows, Kernel::threads), kLargestBytes, stream);
  });
}

template <class T>
void activate(Activation f, std::int64_t n, const T* x, T* y, Stream stream, float* largest) {
  gated<T>(f, {1, n, n}, x, nullptr, y, stream, largest);
}
template <class T>
void activate_backward(Activation f, std::int64_t n, const T* x, const T* dy, T* dx, Stream stream,
                       float* largest) {
  gated_backward<T>(f, {1, n, n, n}, x, nullptr, dy, dx, nullptr, stream, largest);
}

template void activate(Activation, std::int64_t, const float*, float*, Stream, float*);
template void activate(Activation, std::int64_t, const Bf16*, Bf16*, Stream, float*);
template void activate_backward(Activation, std::int64_t, const float*, const float*, float*, Stream, float*);
template void activate_backward(Activation, std::int64_t, const Bf16*, const Bf16*, Bf16*, Stream, float*);
template void gated(Activation, const GatedRows&, const float*, const float*, float*, Stream, float*);
template void gated(Activation, const GatedRows&, const Bf16*, const Bf16*, Bf16*, Stream, float*);
template void gated_backward(Activation, const GatedRows&, const float*, const float*, const float*, float*,
                             float*, Stream, float*);
template void gated_backward(Activation, const GatedRows&, const Bf16*, const Bf16*, const Bf16*, Bf16*,
                             Bf16*, Stream, float*);

}  // namespace bora::cuda
