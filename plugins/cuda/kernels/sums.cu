// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "sums.h"

#include "largest.h"
#include "many.h"
#include "reduce.h"

namespace bora::cuda {
namespace {

struct AddItem : kernels::Added {
  bool well;
};
// All packs of a thread are read before the first is written.
struct AddInto {
  static constexpr int threads = 256, packs = 4;
  static constexpr std::int64_t each = threads * packs * kPack;
  Many<AddItem, each> arrays;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const AddItem& a = arrays.items[which];
    const std::int64_t begin = arrays.begin(which) + thread() * kPack;
    float sum[packs][kPack], before[packs][kPack];
    for (int p = 0; p < packs; ++p) {
      load(a.from, begin + p * threads * kPack, a.n, a.well, sum[p]);
      if (!a.stores) load(a.into, begin + p * threads * kPack, a.n, a.well, before[p]);
    }
    for (int p = 0; p < packs; ++p) {
      if (!a.stores)
        for (int j = 0; j < kPack; ++j) sum[p][j] += before[p][j];
      store(sum[p], a.into, begin + p * threads * kPack, a.n, a.well);
    }
  }
};

struct MeasuredItem : kernels::Measured {
  bool well;
};
constexpr int kThreads = 256;
constexpr std::int64_t kPacks = 8;                             // of a thread
constexpr std::int64_t kElements = kThreads * kPacks * kPack;  // of a block

template <class Use>
__device__ void each_pack(const MeasuredItem& a, std::int64_t begin, const Use& use) {
  for (std::int64_t p = 0; p < kPacks; ++p) {
    const std::int64_t i = begin + (p * kThreads + thread()) * kPack;
    if (i >= a.n) return;
    float v[kPack];
    load(a.x, i, a.n, a.well, v);
    use(v);
  }
}

struct MaxAbs {
  static constexpr int threads = kThreads;
  static constexpr std::int64_t each = kElements;
  Many<MeasuredItem, each> arrays;

  __device__ void operator()() const {
    const int which = arrays.mine();
    unsigned most = 0;
    each_pack(arrays.items[which], arrays.begin(which), [&](const float(&v)[kPack]) {
      for (const float value : v) most = largest_with(most, value);
    });
    give_largest<threads>(most, arrays.items[which].largest);
  }
};

// A square of a number within (-1, 1) is rounded to a multiple of 2^-40, and what is left of it to one of
// 2^-80: adding and taking away 1.5·2^(52-k) rounds to 2^-k. Of a thread's few terms both sums are exact.
struct SquareNumbers {
  static constexpr int threads = kThreads;
  static constexpr std::int64_t each = kElements;
  Many<MeasuredItem, each> arrays;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const float most = *arrays.items[which].largest;
    if (!(most < INFINITY)) return;
    int exponent = 0;
    if (most > 0) frexp(static_cast<double>(most), &exponent);
    const double scale = ldexp(1.0, -exponent);
    constexpr double kCoarse = 6144.0;          // 1.5·2^12
    constexpr double kFine = 6144.0 * 0x1p-40;  // 1.5·2^-28
    double high = 0, low = 0;
    each_pack(arrays.items[which], arrays.begin(which), [&](const float(&v)[kPack]) {
      for (const float value : v) {
        const double scaled = static_cast<double>(value) * scale, square = scaled * scaled;
        const double rounded = (square + kCoarse) - kCoarse, rest = square - rounded;
        high += rounded;
        low += (rest + kFine) - kFine;
      }
    });
    auto* out = reinterpret_cast<unsigned long long*>(arrays.items[which].numbers);
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

struct WordsItem {
  std::int64_t n;
  double* words;
};
struct WordsToNumbers {
  static constexpr int threads = kWarp;
  static constexpr std::int64_t each = 4;
  Many<WordsItem, each> arrays;
  __device__ void operator()() const {
    if (thread() >= each) return;
    double* out = arrays.items[arrays.mine()].words + thread();
    long long word;
    memcpy(&word, out, sizeof(word));
    *out = static_cast<double>(word);
  }
};

}  // namespace

void add_into(std::int64_t count, const kernels::Added* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) {
    return AddItem{arrays[i], packs_lie_well(0, arrays[i].into, arrays[i].from)};
  };
  for_many<AddInto, AddItem>(count, item, 0, stream);
}

void max_abs(std::int64_t count, const kernels::Measured* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) { return MeasuredItem{arrays[i], packs_lie_well(0, arrays[i].x)}; };
  for_many<MaxAbs, MeasuredItem>(count, item, kLargestBytes, stream);
}

void square_numbers(std::int64_t count, const kernels::Measured* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) { return MeasuredItem{arrays[i], packs_lie_well(0, arrays[i].x)}; };
  const auto words = [&](std::int64_t i) {
    return WordsItem{arrays[i].n == 0 ? 0 : WordsToNumbers::each, arrays[i].numbers};
  };
  for_many<SquareNumbers, MeasuredItem>(count, item, kWarp * sizeof(long long), stream);
  for_many<WordsToNumbers, WordsItem>(count, words, 0, stream);
}

}  // namespace bora::cuda
