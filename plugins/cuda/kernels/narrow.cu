// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "narrow.h"

#include "many.h"

namespace bora::cuda {
namespace {

struct NarrowItem {
  std::int64_t n;
  const float* from;
  Bf16* to;
  bool well;
};

struct Narrow {
  static constexpr int threads = 256;
  static constexpr std::int64_t each = threads * kPack;
  Many<NarrowItem, each> arrays;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const std::int64_t i = arrays.begin(which) + thread() * kPack, n = arrays.items[which].n;
    if (i >= n) return;
    float v[kPack];
    load(arrays.items[which].from, i, n, arrays.items[which].well, v);
    store(v, arrays.items[which].to, i, n, arrays.items[which].well);
  }
};

}  // namespace

void narrow(std::int64_t count, const kernels::Narrowed* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) {
    auto* to = static_cast<Bf16*>(arrays[i].to);
    return NarrowItem{arrays[i].n, arrays[i].from, to, packs_lie_well(0, arrays[i].from, to)};
  };
  for_many<Narrow, NarrowItem>(count, item, 0, stream);
}

}  // namespace bora::cuda
