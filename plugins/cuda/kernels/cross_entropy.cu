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

// A block for each row, which reads it once for the mass and once for the gradient.
template <class T>
struct Rows {
  static constexpr int threads = 512;
  CrossEntropy<T> a;
  bool mapped;  // logits are not the products themselves
  bool well;

  __device__ float capped(float x) const {
    return a.map.soft_cap == 0 ? x : a.map.soft_cap * tanhf(x / a.map.soft_cap);
  }
  __device__ void logits(const T* row, std::int64_t i, float (&v)[kPack]) const {
    load(row, i, a.vocab, well, v);
    if (a.map.bias != nullptr) {
      float bias[kPack];
      load(a.map.bias, i, a.vocab, well, bias);
      for (int j = 0; j < kPack; ++j) v[j] = capped(fmaf(v[j], a.map.scale, bias[j]));
    } else {
      for (int j = 0; j < kPack; ++j) v[j] = capped(v[j] * a.map.scale);
    }
  }

  __device__ Mass mass_of(const T* row) const {
    Mass mass{-INFINITY, 0};
    for (std::int64_t i = thread() * kPack; i < a.vocab; i += threads * kPack) {
      float v[kPack];
      logits(row, i, v);
      Mass more{v[0], 0};
      for (int j = 1; j < kPack; ++j) {
        if (i + j < a.vocab) more.most = fmaxf(more.most, v[j]);
      }
      for (int j = 0; j < kPack; ++j) {
        if (i + j < a.vocab) more.sum += expf(v[j] - more.most);
      }
      mass = Join()(mass, more);
    }
    return over_block<threads>(mass, shared<Mass>(), Join());
  }

  // d(loss + z_loss·lse²) in the products: the slope of the map is scale·(1 - (logit / soft_cap)²).
  __device__ void replace(T* row, const Mass& mass, float by, std::int64_t target, float weight) const {
    for (std::int64_t i = thread() * kPack; i < a.vocab; i += threads * kPack) {
      float v[kPack];
      logits(row, i, v);
      for (int j = 0; j < kPack; ++j) {
        float g = expf(v[j] - mass.most) * by;
        if (i + j == target) g -= weight;
        const float t = a.map.soft_cap == 0 ? 0 : v[j] / a.map.soft_cap;
        v[j] = g * (a.map.scale * (1 - t * t));
      }
      store(v, row, i, a.vocab, well);
    }
  }
  template <class Value>
  __device__ void fill(T* row, const Value& value) const {
    for (std::int64_t i = thread() * kPack; i < a.vocab; i += threads * kPack) {
      float v[kPack];
      value(i, v);
      store(v, row, i, a.vocab, well);
    }
  }

  __device__ void operator()() const {
    T* row = a.x + block() * a.stride;
    const std::int64_t target = a.targets[block()];
    const float weight = a.weights[block()];
    const bool counts = target >= 0, known = target < a.vocab;
    float chosen = 0;  // before any thread writes: mass_of waits for all
    if (counts && known) {
      chosen = to_float(row[target]) * a.map.scale;
      if (a.map.bias != nullptr) chosen = fmaf(to_float(row[target]), a.map.scale, a.map.bias[target]);
      chosen = capped(chosen);
    }
    const Mass mass = mass_of(row);
    const float lse = mass.most + logf(mass.sum);
    if (thread() == 0) {
      a.lse[block()] = lse;
      a.loss[block()] = !counts ? 0 : known ? lse - chosen : NAN;
    }
    if (!a.gradient) {
      if (mapped) fill(row, [&](std::int64_t i, float(&v)[kPack]) { logits(row, i, v); });
    } else if (!counts || !known) {
      fill(row, [&](std::int64_t, float(&v)[kPack]) {
        for (float& x : v) x = counts ? NAN : 0;
      });
    } else {
      replace(row, mass, weight * (1 + 2 * a.z_loss * lse) / mass.sum, target, weight);
    }
  }
};

}  // namespace

template <class T>
void cross_entropy(const CrossEntropy<T>& a, Stream stream) {
  const bool well = packs_lie_well(a.stride, a.x, a.map.bias);
  launch(Rows<T>{a, !a.map.identity(), well}, a.rows, kWarp * sizeof(Mass), stream);
}

template void cross_entropy(const CrossEntropy<float>&, Stream);
template void cross_entropy(const CrossEntropy<Bf16>&, Stream);

}  // namespace bora::cuda
