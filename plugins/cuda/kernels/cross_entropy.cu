// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "cross_entropy.h"

#include "reduce.h"

namespace bora::cuda {
namespace {

// The greatest of some logits, and the sum of exp(logit - greatest).
struct Mass {
  float most, sum;
};
struct Join {
  __device__ Mass operator()(const Mass& a, const Mass& b) const {
    const float most = fmaxf(a.most, b.most);
    if (!(most > -INFINITY)) return {most, a.sum + b.sum};  // of nothing yet
    return {most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most)};
  }
};

constexpr std::int64_t kScratch = kWarp * sizeof(Mass);  // for over_block
// Packs of a thread that are under way: 32 KiB of a block in bf16. As much keeps the memory of an H100 busy.
constexpr int kAhead = 4;

// A block for each row. kMapped: logits are not the products themselves. kKept: what is read for the mass stays in
// shared memory for the gradient, else that reads it again. Both do the same sums.
template <class T, bool kMapped, bool kKept>
struct Rows {
  static constexpr int threads = 512;
  static constexpr int least_blocks =
      2;  // with one on a multiprocessor nothing would be read while it writes
  static constexpr int step = threads * kPack;
  CrossEntropy<T> a;
  bool well;

  __device__ float capped(float x) const {
    return a.map.soft_cap == 0 ? x : a.map.soft_cap * tanhf(x / a.map.soft_cap);
  }
  // A thread takes from it only what it has put there itself.
  __device__ static T* kept() { return reinterpret_cast<T*>(shared<Mass>() + kWarp); }
  __device__ void logits(const T* row, std::int64_t i, float (&v)[kPack]) const {
    if constexpr (kKept)
      load(kept(), i, a.vocab, true, v);
    else
      load(row, i, a.vocab, well, v);
    if constexpr (!kMapped) return;
    if (a.map.bias != nullptr) {
      float bias[kPack];
      load(a.map.bias, i, a.vocab, well, bias);
      for (int j = 0; j < kPack; ++j) v[j] = capped(fmaf(v[j], a.map.scale, bias[j]));
    } else {
      for (int j = 0; j < kPack; ++j) v[j] = capped(v[j] * a.map.scale);
    }
  }
  __device__ float logit(const T* row, std::int64_t i) const {
    const float x = to_float(row[i]);
    if constexpr (!kMapped) return x;
    return capped(a.map.bias == nullptr ? x * a.map.scale : fmaf(x, a.map.scale, a.map.bias[i]));
  }
  // Of a logit, in its product: scale·(1 - (logit / soft_cap)²).
  __device__ float slope(float x) const {
    if constexpr (!kMapped) return 1;
    const float t = a.map.soft_cap == 0 ? 0 : x / a.map.soft_cap;
    return a.map.scale * (1 - t * t);
  }

  // kWhole: of all elements of a pack, else of the first `count`.
  template <bool kWhole>
  __device__ static Mass mass_of_pack(const float (&v)[kPack], int count) {
    Mass mass{v[0], 0};
    for (int j = 1; j < kPack; ++j) {
      if (kWhole || j < count) mass.most = fmaxf(mass.most, v[j]);
    }
    for (int j = 0; j < kPack; ++j) {
      if (kWhole || j < count) mass.sum += expf(v[j] - mass.most);
    }
    return mass;
  }
  __device__ Mass mass_of(const T* row) const {
    Mass mass{-INFINITY, 0};
    if constexpr (kKept) {
      for (int k = 0; k < kAhead; ++k) fetch(row, thread() * kPack + k * step, a.vocab, well, kept());
    }
    for (std::int64_t i = thread() * kPack; i < a.vocab; i += step) {
      if constexpr (kKept) {
        fetch(row, i + kAhead * step, a.vocab, well, kept());
        wait_for_batches<kAhead>();
      }
      float v[kPack];
      logits(row, i, v);
      const bool whole = i + kPack <= a.vocab;
      mass = Join()(
          mass, whole ? mass_of_pack<true>(v, kPack) : mass_of_pack<false>(v, static_cast<int>(a.vocab - i)));
    }
    return over_block<threads>(mass, shared<Mass>(), Join());
  }

  template <class Value>
  __device__ void fill(T* row, const Value& value) const {
    for (std::int64_t i = thread() * kPack; i < a.vocab; i += step) {
      float v[kPack];
      value(i, v);
      store(v, row, i, a.vocab, well);
    }
  }

  // d(loss + z_loss·lse²) in the products. `chosen`: the logit of the target.
  __device__ void replace(T* row, const Mass& mass, float by, std::int64_t target, float chosen,
                          float weight) const {
    const auto share = [&](float logit) { return expf(logit - mass.most) * by; };
    fill(row, [&](std::int64_t i, float(&v)[kPack]) {
      logits(row, i, v);
      for (float& x : v) x = share(x) * slope(x);
    });
    if (thread() == target / kPack % threads)  // it has written the target's pack
      row[target] = from_float<T>((share(chosen) - weight) * slope(chosen));
  }

  __device__ void operator()() const {
    T* row = a.x + block() * a.stride;
    const std::int64_t target = a.targets[block()];
    const float weight = a.weights[block()];
    const bool counts = target >= 0, known = target < a.vocab;
    // before any thread writes: mass_of waits for all
    const float chosen = counts && known ? logit(row, target) : 0;
    const Mass mass = mass_of(row);
    const float lse = mass.most + logf(mass.sum);
    if (thread() == 0) {
      a.lse[block()] = lse;
      a.loss[block()] = !counts ? 0 : known ? lse - chosen : NAN;
    }
    if (!a.gradient) {
      if (kMapped) fill(row, [&](std::int64_t i, float(&v)[kPack]) { logits(row, i, v); });
    } else if (!counts || !known) {
      fill(row, [&](std::int64_t, float(&v)[kPack]) {
        for (float& x : v) x = counts ? NAN : 0;
      });
    } else {
      replace(row, mass, weight * (1 + 2 * a.z_loss * lse) / mass.sum, target, chosen, weight);
    }
  }
};

template <bool kMapped, class T>
void by_rows(const CrossEntropy<T>& a, Stream stream) {
  const bool well = packs_lie_well(a.stride, a.x, a.map.bias);
  const bool twice = a.gradient || kMapped;
  const std::int64_t bytes = kScratch + a.vocab * static_cast<std::int64_t>(sizeof(T));
  using Kept = Rows<T, kMapped, true>;
  if (twice && bytes <= most_shared(Kept::least_blocks))
    launch(Kept{a, well}, a.rows, bytes, stream);
  else
    launch(Rows<T, kMapped, false>{a, well}, a.rows, kScratch, stream);
}

}  // namespace

template <class T>
void cross_entropy(const CrossEntropy<T>& a, Stream stream) {
  a.map.identity() ? by_rows<false>(a, stream) : by_rows<true>(a, stream);
}

template void cross_entropy(const CrossEntropy<float>&, Stream);
template void cross_entropy(const CrossEntropy<Bf16>&, Stream);

}  // namespace bora::cuda
