// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "sums.h"

#include "numbers.h"
#include "reduce.h"

namespace bora::cuda {
namespace {

struct AddInto {
  static constexpr int threads = 256;
  std::int64_t n;
  float* into;
  const float* from;
  bool well;

  __device__ void operator()() const {
    const std::int64_t i = (block() * threads + thread()) * kPack;
    if (i >= n) return;
    float x[kPack], y[kPack];
    load(into, i, n, well, x);
    load(from, i, n, well, y);
    for (int j = 0; j < kPack; ++j) x[j] += y[j];
    store(x, into, i, n, well);
  }
};

constexpr int kThreads = 256;
constexpr std::int64_t kPacks = 8;                             // of a thread
constexpr std::int64_t kElements = kThreads * kPacks * kPack;  // of a block

template <class Use>
__device__ void each_pack(std::int64_t n, const float* x, bool well, const Use& use) {
  for (std::int64_t p = 0; p < kPacks; ++p) {
    const std::int64_t i = block() * kElements + (p * kThreads + thread()) * kPack;
    if (i >= n) return;
    float v[kPack];
    load(x, i, n, well, v);
    use(v);
  }
}

// As bits the numbers that are not negative have the order of whole numbers, and NaN is above infinity.
struct Largest {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};
struct MaxAbs {
  static constexpr int threads = kThreads;
  std::int64_t n;
  const float* x;
  float* out;
  bool well;

  __device__ void operator()() const {
    constexpr unsigned kInfinity = 0x7f800000, kNan = 0x7fc00000;
    unsigned most = 0;
    each_pack(n, x, well, [&](const float(&v)[kPack]) {
      for (const float value : v) {
        unsigned bits;
        memcpy(&bits, &value, sizeof(bits));
        bits &= 0x7fffffff;
        most = Largest()(most, bits >= kInfinity ? kNan : bits);
      }
    });
    most = over_block<threads>(most, shared<unsigned>(), Largest());
    if (thread() == 0) raise_to(reinterpret_cast<unsigned*>(out), most);
  }
};

// A square of a number within (-1, 1) is rounded to a multiple of 2^-40, and what is left of it to one of
// 2^-80: adding and taking away 1.5·2^(52-k) rounds to 2^-k. Of a thread's few terms both sums are exact.
struct SquareNumbers {
  static constexpr int threads = kThreads;
  std::int64_t n;
  const float* x;
  const float* largest;
  unsigned long long* out;
  bool well;

  __device__ void operator()() const {
    const float most = *largest;
    if (!(most < INFINITY)) return;
    int exponent = 0;
    if (most > 0) frexp(static_cast<double>(most), &exponent);
    const double scale = ldexp(1.0, -exponent);
    constexpr double kCoarse = 6144.0;          // 1.5·2^12
    constexpr double kFine = 6144.0 * 0x1p-40;  // 1.5·2^-28
    double high = 0, low = 0;
    each_pack(n, x, well, [&](const float(&v)[kPack]) {
      for (const float value : v) {
        const double scaled = static_cast<double>(value) * scale, square = scaled * scaled;
        const double rounded = (square + kCoarse) - kCoarse, rest = square - rounded;
        high += rounded;
        low += (rest + kFine) - kFine;
      }
    });
    add(static_cast<long long>(high * 0x1p40), out);
    add(static_cast<long long>(low * 0x1p80), out + 2);
  }
  // In two words: how many times 2^30, and the rest.
  __device__ static void add(long long part, unsigned long long* words) {
    part = over_block<threads>(part, shared<long long>(), Plus());
    if (thread() != 0) return;
    add_to(words, static_cast<unsigned long long>(part >> 30));
    add_to(words + 1, static_cast<unsigned long long>(part & ((1LL << 30) - 1)));
  }
};

struct WordsToNumbers {
  static constexpr int threads = kWarp;
  double* out;
  __device__ void operator()() const {
    if (thread() >= 4) return;
    long long word;
    memcpy(&word, out + thread(), sizeof(word));
    out[thread()] = static_cast<double>(word);
  }
};

}  // namespace

void add_into(std::int64_t n, float* into, const float* from, Stream stream) {
  launch(AddInto{n, into, from, packs_lie_well(0, into, from)}, blocks_for(n, AddInto::threads * kPack), 0,
         stream);
}

void max_abs(std::int64_t n, const float* x, float* out, Stream stream) {
  launch(MaxAbs{n, x, out, packs_lie_well(0, x)}, blocks_for(n, kElements), kWarp * sizeof(unsigned), stream);
}

void square_numbers(std::int64_t n, const float* x, const float* largest, double* out, Stream stream) {
  launch(SquareNumbers{n, x, largest, reinterpret_cast<unsigned long long*>(out), packs_lie_well(0, x)},
         blocks_for(n, kElements), kWarp * sizeof(long long), stream);
  launch(WordsToNumbers{out}, n == 0 ? 0 : 1, 0, stream);
}

}  // namespace bora::cuda
