// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "adamw.h"

#include "adamw_update.h"
#include "many.h"

namespace bora::cuda {
namespace {

struct AdamWItem : kernels::Stepped {
  bool well;
};

struct Update {
  static constexpr int threads = 256;
  static constexpr std::int64_t each = threads * kPack;
  Many<AdamWItem, each> arrays;
  kernels::AdamW s;

  __device__ void operator()() const {
    const int which = arrays.mine();
    const AdamWItem& a = arrays.items[which];
    const std::int64_t i = arrays.begin(which) + thread() * kPack;
    if (i >= a.n) return;
    float p[kPack], g[kPack], m[kPack], v[kPack];
    load(a.parameter, i, a.n, a.well, p);
    load(a.gradient, i, a.n, a.well, g);
    load(a.mean, i, a.n, a.well, m);
    load(a.square, i, a.n, a.well, v);
    for (int j = 0; j < kPack; ++j) p[j] = adamw_updated(s, p[j], g[j], a.weight_decay, m[j], v[j]);
    store(p, a.parameter, i, a.n, a.well);
    store(m, a.mean, i, a.n, a.well);
    store(v, a.square, i, a.n, a.well);
    if (a.copy != nullptr) store(p, static_cast<Bf16*>(a.copy), i, a.n, a.well);
  }
};

}  // namespace

void adamw(const kernels::AdamW& step, std::int64_t count, const kernels::Stepped* arrays, Stream stream) {
  const auto item = [&](std::int64_t i) {
    const kernels::Stepped& a = arrays[i];
    return AdamWItem{
        a, packs_lie_well(0, a.parameter, a.gradient, a.mean, a.square, static_cast<Bf16*>(a.copy))};
  };
  for_many<Update, AdamWItem>(count, item, 0, stream, step);
}

}  // namespace bora::cuda
