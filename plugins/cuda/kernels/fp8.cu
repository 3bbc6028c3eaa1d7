// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "fp8.h"

#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif

#include "largest.h"

namespace bora::cuda {
namespace {

using core::Fp8;

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

// Bits of the mantissa, the exponent of 1, and the largest number, 1.75 · 2^top.
struct Shape8 {
  int mantissa, bias, top;
  float most;
};
__device__ constexpr Shape8 shape_of(Fp8 format) {
  return format == Fp8::e4m3 ? Shape8{3, 7, 8, 448} : Shape8{2, 15, 15, 57344};
}

// As core/kernels/cpu/fp8.cpp.
template <Fp8 kFormat>
__device__ std::uint8_t to_fp8(float x) {
  constexpr Shape8 format = shape_of(kFormat);
  const std::uint32_t bits = bits_of(x), sign = bits >> 24 & 0x80U, most = bits_of(format.most);
  std::uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<std::uint8_t>(sign | 0x7fU);
  if (size > most) size = most;
  constexpr int shift = 23 - format.mantissa;
  constexpr std::uint32_t least = static_cast<std::uint32_t>(128 - format.bias) << 23;
  if (size < least) {
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(128 - format.bias + shift) << 23;
    return static_cast<std::uint8_t>(sign | (bits_of(number_of(size) + number_of(magic)) - magic));
  }
  size += ((1U << (shift - 1)) - 1) + (size >> shift & 1U);
  size -= static_cast<std::uint32_t>(127 - format.bias) << 23;
  return static_cast<std::uint8_t>(sign | size >> shift);
}

// Four of them, the first in the lowest byte. GPUs that multiply in fp8 convert by themselves, to the same bytes, but for
// the sign of NaN: there is one only where the scale is NaN, and a product with it has no sign on a GPU.
template <Fp8 kFormat>
__device__ std::uint32_t four_to_fp8(const float (&x)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  constexpr auto format = kFormat == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2;
  const std::uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(x[0], x[1]), __NV_SATFINITE, format),
                      high = __nv_cvt_float2_to_fp8x2(make_float2(x[2], x[3]), __NV_SATFINITE, format);
  return low | high << 16;
#else
  std::uint32_t bytes = 0;
  for (int j = 0; j < 4; ++j) bytes |= static_cast<std::uint32_t>(to_fp8<kFormat>(x[j])) << (8 * j);
  return bytes;
#endif
}

// Eight rows of eight bytes, the first byte of a word its lowest.
struct Square {
  std::uint32_t words[kPack][2];
  __device__ std::uint64_t row(int i) const {
    return words[i][0] | static_cast<std::uint64_t>(words[i][1]) << 32;
  }
};

// Of the bytes 0 .. 3 of `a` and 4 .. 7 of `b` those that the digits name, the lowest one last.
__device__ inline std::uint32_t bytes_of(std::uint32_t a, std::uint32_t b, std::uint32_t digits) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, digits);
#else
  const std::uint64_t both = a | static_cast<std::uint64_t>(b) << 32;
  std::uint64_t out = 0;
  for (int i = 0; i < 4; ++i) out |= (both >> (8 * (digits >> (4 * i) & 7U)) & 0xffU) << (8 * i);
  return static_cast<std::uint32_t>(out);
#endif
}

__device__ inline Square turned_over(const Square& x) {
  Square out;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t a = x.words[4 * i][j], b = x.words[4 * i + 1][j], c = x.words[4 * i + 2][j],
                          d = x.words[4 * i + 3][j];
      const std::uint32_t ab = bytes_of(a, b, 0x5140), cd = bytes_of(c, d, 0x5140),
                          ab_behind = bytes_of(a, b, 0x7362), cd_behind = bytes_of(c, d, 0x7362);
      out.words[4 * j][i] = bytes_of(ab, cd, 0x5410);
      out.words[4 * j + 1][i] = bytes_of(ab, cd, 0x7632);
      out.words[4 * j + 2][i] = bytes_of(ab_behind, cd_behind, 0x5410);
      out.words[4 * j + 3][i] = bytes_of(ab_behind, cd_behind, 0x7632);
    }
  }
  return out;
}

// The exponent of the scale: that of the format's largest number less that of the largest element.
template <Fp8 kFormat>
__device__ int scale_exponent(float largest) {
  if (largest == 0) return 0;
  const std::uint32_t bits = bits_of(largest);
  const int k =
      shape_of(kFormat).top - (static_cast<int>(bits >> 23) - 127) - ((bits & 0x7fffffU) > 0x600000U ? 1 : 0);
  return k < 126 ? k : 126;
}

template <class T>
struct MaxAbs8 {
  static constexpr int threads = 256, at_a_time = 4;
  static constexpr std::int64_t packs = 8, each = threads * packs * kPack;
  std::int64_t n;
  const T* x;
  float* largest;
  bool well;

  __device__ void operator()() const {
    const std::int64_t first = block() * each + thread() * kPack;
    unsigned most = 0;
    if (well && (block() + 1) * each <= n) {
      for (int p = 0; p < packs; p += at_a_time)
        most = with_loads_under_way(most, first + p * threads * kPack);
    } else {
      for (std::int64_t i = first; i < n && i < (block() + 1) * each; i += threads * kPack) {
        float v[kPack];
        load(x, i, n, well, v);
        for (const float value : v) most = largest_with(most, value);
      }
    }
    give_largest<threads>(most, largest);
  }

  // Of packs that are whole and lie well: a branch at each would make it wait for the one before.
  __device__ unsigned with_loads_under_way(unsigned most, std::int64_t i) const {
    float v[at_a_time][kPack];
    for (int p = 0; p < at_a_time; ++p) load(x + i + p * threads * kPack, 0, kPack, true, v[p]);
    for (const auto& pack : v) {
      for (const float value : pack) most = largest_with(most, value);
    }
    return most;
  }
};

struct alignas(16) Chunk {
  std::uint64_t halves[2];
};

// A block has a tile, a thread of it a square of 8 x 8, which is there as a whole or not at all: rows and n are multiples
// of 16. The thread writes it as it lies, and turned into shared memory, which leaves in chunks of 16 bytes.
template <class T, Fp8 kFormat>
struct Quantize8 {
  static constexpr int tile_rows = 128, tile_columns = 64, across = tile_columns / kPack,
                       threads = tile_rows / kPack * across;
  static constexpr std::int64_t shared_bytes = tile_rows * tile_columns;
  std::int64_t rows, n;
  const T* x;
  const float* largest;
  std::int64_t parts;
  std::uint8_t *y, *turned;
  float* inverse;
  bool well;

  __device__ void operator()() const {
    const auto at = static_cast<unsigned>(block()),
               tiles = static_cast<unsigned>((n + tile_columns - 1) / tile_columns);
    const std::int64_t first_row = std::int64_t{at / tiles} * tile_rows,
                       first_column = std::int64_t{at % tiles} * tile_columns;
    const unsigned down = static_cast<unsigned>(thread()) / across,
                   right = static_cast<unsigned>(thread()) % across;
    const std::int64_t row = first_row + down * kPack, column = first_column + right * kPack,
                       i = row * n + column;
    const bool there = row < rows && column < n;
    Packs packs;
    if (there) load_packs(x + i, packs);
    const float scale = scale_to_use();  // while they are on their way
    if (there) {
      const Square square = converted(packs, scale);
      if (y != nullptr) {
        for (int j = 0; j < kPack; ++j) *reinterpret_cast<std::uint64_t*>(y + i + j * n) = square.row(j);
      }
      if (turned != nullptr) put(turned_over(square), down, right);
    }
    if (turned == nullptr) return;
    sync();
    write_turned(first_row, first_column);
  }

  // As they are stored.
  struct Packs {
    std::uint32_t words[kPack][kPack * sizeof(T) / 4];
  };

  // All of them before the first is looked at, and with no branch in between.
  __device__ void load_packs(const T* from, Packs& packs) const {
    const auto take = [&](bool lies_well) {
      for (int j = 0; j < kPack; ++j) {
        alignas(16) T pack[kPack];
        load_stored(from + j * n, 0, kPack, lies_well, pack);
        memcpy(packs.words[j], pack, sizeof(pack));
      }
    };
    if (well)
      take(true);
    else
      take(false);
  }

  __device__ float scale_to_use() const {
    unsigned most_bits = 0;
    for (std::int64_t p = 0; p < parts; ++p) most_bits = largest_with(most_bits, largest[p]);
    const float most = number_of(most_bits);
    const bool finite = most < INFINITY;
    const int k = finite ? scale_exponent<kFormat>(most) : 0;
    if (block() == 0 && thread() == 0)
      *inverse = finite ? number_of(static_cast<std::uint32_t>(127 - k) << 23) : NAN;
    return finite ? number_of(static_cast<std::uint32_t>(127 + k) << 23) : NAN;
  }

  __device__ static float element(const Packs& packs, int j, int e) {
    if constexpr (sizeof(T) == 4) {
      return number_of(packs.words[j][e]);
    } else {
      const std::uint32_t two = packs.words[j][e / 2];
      return number_of(e % 2 == 0 ? two << 16 : two & 0xffff0000U);
    }
  }
  __device__ static Square converted(const Packs& packs, float scale) {
    Square out;
    for (int j = 0; j < kPack; ++j) {
      for (int half = 0; half < 2; ++half) {
        float v[4];
        for (int e = 0; e < 4; ++e) v[e] = element(packs, j, 4 * half + e) * scale;
        out.words[j][half] = four_to_fp8<kFormat>(v);
      }
    }
    return out;
  }

  // Of column `j` of a square across the place of a chunk in shared memory. The order of a column's chunks differs from
  // square to square, so that threads that write at a time find different banks; those that read take whole columns.
  static constexpr unsigned chunks = tile_rows / sizeof(Chunk);
  __device__ static Chunk& place(unsigned chunk, unsigned right, unsigned j) {
    return shared<Chunk>()[(right * kPack + j) * chunks + (chunk ^ right)];
  }
  __device__ static void put(const Square& square, unsigned down, unsigned right) {
    for (unsigned j = 0; j < kPack; ++j)
      place(down / 2, right, j).halves[down % 2] = square.row(static_cast<int>(j));
  }

  __device__ void write_turned(std::int64_t first_row, std::int64_t first_column) const {
    constexpr unsigned at_a_time = threads / chunks, times = tile_columns / at_a_time;
    const unsigned chunk = static_cast<unsigned>(thread()) % chunks,
                   first = static_cast<unsigned>(thread()) / chunks;
    const std::int64_t row = first_row + chunk * sizeof(Chunk), column = first_column + first;
    if (row >= rows) return;
    for (unsigned t = 0; t < times; ++t) {
      const unsigned right = (first + t * at_a_time) / kPack, j = first % kPack;
      if (column + t * at_a_time < n)
        *reinterpret_cast<Chunk*>(turned + (column + t * at_a_time) * rows + row) = place(chunk, right, j);
    }
  }
};

template <Fp8 kFormat, class T>
void quantize_to(std::int64_t rows, std::int64_t n, const T* x, const float* largest, std::int64_t parts,
                 std::uint8_t* y, std::uint8_t* turned, float* inverse, Stream stream) {
  using K = Quantize8<T, kFormat>;
  launch(K{rows, n, x, largest, parts, y, turned, inverse, packs_lie_well(n, x)},
         blocks_for(rows, K::tile_rows) * blocks_for(n, K::tile_columns), K::shared_bytes, stream);
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
    quantize_to<Fp8::e4m3>(rows, n, x, largest, parts, y, turned, inverse, stream);
  else
    quantize_to<Fp8::e5m2>(rows, n, x, largest, parts, y, turned, inverse, stream);
}

template void fp8_max_abs(std::int64_t, const float*, float*, Stream);
template void fp8_max_abs(std::int64_t, const Bf16*, float*, Stream);
template void fp8_quantize(core::Fp8, std::int64_t, std::int64_t, const float*, const float*, std::int64_t,
                           std::uint8_t*, std::uint8_t*, float*, Stream);
template void fp8_quantize(core::Fp8, std::int64_t, std::int64_t, const Bf16*, const float*, std::int64_t,
                           std::uint8_t*, std::uint8_t*, float*, Stream);

}  // namespace bora::cuda
