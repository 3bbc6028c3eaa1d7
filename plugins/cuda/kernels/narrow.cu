// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "narrow.h"

#include "largest.h"
#include "many.h"

namespace bora::cuda {
namespace {

struct NarrowItem {
  std::int64_t n;
  const float* from;
  Bf16* to;
  float* largest;
  bool well;
};

struct Narrow {
  static constexpr int threads = 256;
  static constexpr std::int64_t each = threads * kPack;
  Many<NarrowItem, each> arrays;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const NarrowItem& a = arrays.items[which];
    const std::int64_t i = arrays.begin(which) + thread() * kPack;
    unsigned most = 0;
    if (i < a.n) {
      float v[kPack];
      load(a.from, i, a.n, a.well, v);
      store(v, a.to, i, a.n, a.well);
      most = largest_with<Bf16>(most, v, a.n - i);
    }
    if (a.largest != nullptr) give_largest<threads>(most, a.largest);
  }
};

}  // namespace

void narrow(std::int64_t count, const kernels::Narrowed* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) {
    auto* to = static_cast<Bf16*>(arrays[i].to);
    return NarrowItem{arrays[i].n, arrays[i].from, to, arrays[i].largest,
                      packs_lie_well(0, arrays[i].from, to)};
  };
  for_many<Narrow, NarrowItem>(count, item, kLargestBytes, stream);
}

}  // namespace bora::cuda
