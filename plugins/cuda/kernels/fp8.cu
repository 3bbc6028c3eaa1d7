// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "fp8.h"

#include "largest.h"

namespace bora::cuda {
namespace {

__device__ inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
__device__ inline float number_of(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

struct E4m3 {
  static constexpr int mantissa = 3, bias = 7, top = 8;
  static constexpr float most = 448.0F;
};
struct E5m2 {
  static constexpr int mantissa = 2, bias = 15, top = 15;
  static constexpr float most = 57344.0F;
};

// As core/kernels/cpu/fp8.cpp.
template <class F>
__device__ std::uint8_t to_fp8(float x) {
  const std::uint32_t bits = bits_of(x), sign = bits >> 24 & 0x80U, most = bits_of(F::most);
  std::uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<std::uint8_t>(sign | 0x7fU);
  if (size > most) size = most;
  constexpr int shift = 23 - F::mantissa;
  constexpr std::uint32_t least = static_cast<std::uint32_t>(128 - F::bias) << 23;
  if (size < least) {
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(128 - F::bias + shift) << 23;
    return static_cast<std::uint8_t>(sign | (bits_of(number_of(size) + number_of(magic)) - magic));
  }
  size += ((1U << (shift - 1)) - 1) + (size >> shift & 1U);
  size -= static_cast<std::uint32_t>(127 - F::bias) << 23;
  return static_cast<std::uint8_t>(sign | size >> shift);
}

// The exponent of the scale: that of the format's largest number, 1.75 · 2^top, less that of the largest element.
template <class F>
__device__ int scale_exponent(float largest) {
  if (largest == 0) return 0;
  const std::uint32_t bits = bits_of(largest);
  const int k = F::top - (static_cast<int>(bits >> 23) - 127) - ((bits & 0x7fffffU) > 0x600000U ? 1 : 0);
  return k < 126 ? k : 126;
}

template <class T>
struct MaxAbs8 {
  static constexpr int threads = 256;
  static constexpr std::int64_t packs = 8, each = threads * packs * kPack;
  std::int64_t n;
  const T* x;
  float* largest;
  bool well;

  __device__ void operator()() const {
    unsigned most = 0;
    for (std::int64_t p = 0; p < packs; ++p) {
      const std::int64_t i = block() * each + (p * threads + thread()) * kPack;
      if (i >= n) break;
      float v[kPack];
      load(x, i, n, well, v);
      for (const float value : v) most = largest_with(most, value);
    }
    give_largest<threads>(most, largest);
  }
};

// A block has a tile of 64 x 64: written as it lies, and out of shared memory turned, eight bytes at a time.
template <class T, class F>
struct Quantize8 {
  static constexpr int threads = 256, tile = 64, row = tile + 4;
  static constexpr std::int64_t shared_bytes = tile * row;
  std::int64_t rows, n;
  const T* x;
  const float* largest;
  std::int64_t parts;
  std::uint8_t *y, *turned;
  float* inverse;
  bool well;

  __device__ void operator()() const {
    const std::int64_t across = (n + tile - 1) / tile, first_row = block() / across * tile,
                       first_column = block() % across * tile;
    unsigned most_bits = 0;
    for (std::int64_t p = 0; p < parts; ++p) most_bits = largest_with(most_bits, largest[p]);
    const float most = number_of(most_bits);
    const bool finite = most < INFINITY;
    const int k = finite ? scale_exponent<F>(most) : 0;
    const float scale = finite ? number_of(static_cast<std::uint32_t>(127 + k) << 23) : NAN;
    if (block() == 0 && thread() == 0)
      *inverse = finite ? number_of(static_cast<std::uint32_t>(127 - k) << 23) : NAN;
    auto* room = shared<std::uint8_t>();
    for (int p = thread(); p < tile * tile / kPack; p += threads) {
      const int r = p / (tile / kPack), c = p % (tile / kPack) * kPack;
      const std::int64_t at_row = first_row + r, at_column = first_column + c;
      if (at_row >= rows || at_column >= n) continue;
      float v[kPack];
      load(x + at_row * n, at_column, n, well, v);
      std::uint64_t bytes = 0;
      for (int j = 0; j < kPack; ++j) {
        const std::uint8_t byte = to_fp8<F>(v[j] * scale);
        bytes |= static_cast<std::uint64_t>(byte) << (8 * j);
        room[r * row + c + j] = byte;
      }
      if (y != nullptr) *reinterpret_cast<std::uint64_t*>(y + at_row * n + at_column) = bytes;
    }
    if (turned == nullptr) return;
    sync();
    for (int p = thread(); p < tile * tile / kPack; p += threads) {
      const int c = p / (tile / kPack), r = p % (tile / kPack) * kPack;
      const std::int64_t at_row = first_row + r, at_column = first_column + c;
      if (at_row >= rows || at_column >= n) continue;
      std::uint64_t bytes = 0;
      for (int j = 0; j < kPack; ++j) bytes |= static_cast<std::uint64_t>(room[(r + j) * row + c]) << (8 * j);
      *reinterpret_cast<std::uint64_t*>(turned + at_column * rows + at_row) = bytes;
    }
  }
};

template <class F, class T>
void quantize_to(std::int64_t rows, std::int64_t n, const T* x, const float* largest, std::int64_t parts,
                 std::uint8_t* y, std::uint8_t* turned, float* inverse, Stream stream) {
  using K = Quantize8<T, F>;
  launch(K{rows, n, x, largest, parts, y, turned, inverse, packs_lie_well(n, x)},
         blocks_for(rows, K::tile) * blocks_for(n, K::tile), K::shared_bytes, stream);
}

}  // namespace

template <class T>
void fp8_max_abs(std::int64_t n, const T* x, float* largest, Stream stream) {
  launch(MaxAbs8<T>{n, x, largest, packs_lie_well(0, x)}, blocks_for(n, MaxAbs8<T>::each), kLargestBytes,
         stream);
}

template <class T>
void fp8_quantize(core::Fp8 format, std::int64_t rows, std::int64_t n, const T* x, const float* largest,
                  std::int64_t parts, std::uint8_t* y, std::uint8_t* turned, float* inverse, Stream stream) {
  if (format == core::Fp8::e4m3)
    quantize_to<E4m3>(rows, n, x, largest, parts, y, turned, inverse, stream);
  else
    quantize_to<E5m2>(rows, n, x, largest, parts, y, turned, inverse, stream);
}

template void fp8_max_abs(std::int64_t, const float*, float*, Stream);
template void fp8_max_abs(std::int64_t, const Bf16*, float*, Stream);
template void fp8_quantize(core::Fp8, std::int64_t, std::int64_t, const float*, const float*, std::int64_t,
                           std::uint8_t*, std::uint8_t*, float*, Stream);
template void fp8_quantize(core::Fp8, std::int64_t, std::int64_t, const Bf16*, const float*, std::int64_t,
                           std::uint8_t*, std::uint8_t*, float*, Stream);

}  // namespace bora::cuda
