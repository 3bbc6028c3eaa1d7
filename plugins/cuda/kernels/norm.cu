// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A block for each row forward, for each 32 rows backward. A row of up to 4096 elements is a pack for each thread, which
// reads it once; of a longer one a thread has several packs, which it reads again. Both do the same sums.
#include "norm.h"

#include <type_traits>

#include "column_sums.h"
#include "largest.h"
#include "reduce.h"

namespace bora::cuda {
namespace {

constexpr std::int64_t kRows = 32;                      // of a block backward
constexpr int kMostThreads = 512;                       // of a block
constexpr std::int64_t kMostShared = 48 << 10;          // bytes
constexpr std::int64_t kScratch = kWarp * sizeof(Two);  // for over_block

template <class T, bool kCentred>
struct Forward {
  static constexpr int threads = kMostThreads;
  NormForward<T> a;
  bool well;

  template <class Use>
  __device__ void each_pack(const T* from, const Use& use) const {
    for (std::int64_t i = thread() * kPack; i < a.n; i += threads * kPack) {
      float v[kPack];
      load(from, i, a.n, well, v);
      use(i, v);
    }
  }

  __device__ void operator()() const {
    auto* room = shared<float>();
    const std::int64_t row = block() * a.n;
    float total = 0;
    each_pack(a.x + row, [&](std::int64_t i, float(&v)[kPack]) {
      if (a.residual != nullptr) {
        float more[kPack];
        load(a.residual + row, i, a.n, well, more);
        for (int j = 0; j < kPack; ++j) v[j] = to_float(from_float<T>(v[j] + more[j]));
        store(v, a.sum + row, i, a.n, well);
      }
      for (int j = 0; j < kPack; ++j) total += kCentred ? v[j] : v[j] * v[j];
    });
    total = over_block<threads>(total, room, Plus());
    const T* normed = (a.residual != nullptr ? a.sum : a.x) + row;
    const auto count = static_cast<float>(a.n);
    float mean = 0;
    if constexpr (kCentred) {
      mean = total / count;
      total = 0;
      each_pack(normed, [&](std::int64_t i, const float(&v)[kPack]) {
        for (int j = 0; j < kPack; ++j) {
          if (i + j < a.n) total += (v[j] - mean) * (v[j] - mean);
        }
      });
      total = over_block<threads>(total, room, Plus());
    }
    const float rstd = 1 / sqrtf(total / count + a.eps);
    if (thread() == 0) {
      if constexpr (kCentred) a.mean[block()] = mean;
      a.rstd[block()] = rstd;
    }
    unsigned most = 0;
    each_pack(normed, [&](std::int64_t i, float(&v)[kPack]) {
      for (float& x : v) x = (x - mean) * rstd;
      if (a.weight != nullptr) {
        float w[kPack];
        load(a.weight, i, a.n, well, w);
        for (int j = 0; j < kPack; ++j) v[j] *= w[j];
      }
      if (a.bias != nullptr) {
        float b[kPack];
        load(a.bias, i, a.n, well, b);
        for (int j = 0; j < kPack; ++j) v[j] += b[j];
      }
      store(v, a.y + row, i, a.n, well);
      if (a.largest != nullptr) most = largest_with<T>(most, v, a.n - i);
    });
    if (a.largest != nullptr) give_largest<threads>(most, a.largest);
  }
};

// A row is a pack for each thread.
template <int kThreads, class T, bool kCentred>
struct ForwardOfPack {
  static constexpr int threads = kThreads;
  NormForward<T> a;
  bool well;

  __device__ void operator()() const {
    auto* room = shared<float>();
    const std::int64_t row = block() * a.n, i = std::int64_t{thread()} * kPack;
    float v[kPack], w[kPack], b[kPack];
    load(a.x + row, i, a.n, well, v);
    if (a.weight != nullptr) load(a.weight, i, a.n, well, w);
    if (a.bias != nullptr) load(a.bias, i, a.n, well, b);
    if (a.residual != nullptr) {
      float more[kPack];
      load(a.residual + row, i, a.n, well, more);
      for (int j = 0; j < kPack; ++j) v[j] = to_float(from_float<T>(v[j] + more[j]));
      store(v, a.sum + row, i, a.n, well);
    }
    const auto count = static_cast<float>(a.n);
    float mean = 0, total = 0;
    for (int j = 0; j < kPack; ++j) total += kCentred ? v[j] : v[j] * v[j];
    total = over_block<kThreads>(total, room, Plus());
    if constexpr (kCentred) {
      mean = total / count;
      total = 0;
      for (int j = 0; j < kPack; ++j) {
        if (i + j < a.n) total += (v[j] - mean) * (v[j] - mean);
      }
      total = over_block<kThreads>(total, room, Plus());
    }
    const float rstd = 1 / sqrtf(total / count + a.eps);
    if (thread() == 0) {
      if constexpr (kCentred) a.mean[block()] = mean;
      a.rstd[block()] = rstd;
    }
    for (int j = 0; j < kPack; ++j) {
      v[j] = (v[j] - mean) * rstd;
      if (a.weight != nullptr) v[j] *= w[j];
      if (a.bias != nullptr) v[j] += b[j];
    }
    store(v, a.y + row, i, a.n, well);
    if (a.largest != nullptr) give_largest<kThreads>(largest_with<T>(0, v, a.n - i), a.largest);
  }
};

// With u = (x - mean)·rstd and g = dy·weight: dx = rstd·(g - mean(g·u)·u - mean(g)), the last of a layer norm.
template <class T, bool kCentred>
struct Backward {
  static constexpr int threads = kMostThreads;
  NormBackward<T> a;
  std::int64_t parts;  // blocks
  bool well;
  bool in_shared;  // the block's sums of dweight and dbias, which only the thread of a column touches

  __device__ void normalised(std::int64_t row, std::int64_t i, float (&u)[kPack]) const {
    load(a.x + row * a.n, i, a.n, well, u);
    const float mean = kCentred ? a.mean[row] : 0.0F, rstd = a.rstd[row];
    for (float& v : u) v = (v - mean) * rstd;
  }
  __device__ void incoming(std::int64_t row, std::int64_t i, float (&dy)[kPack], float (&g)[kPack]) const {
    load(a.dy + row * a.n, i, a.n, well, dy);
    if (a.weight == nullptr) {
      for (int j = 0; j < kPack; ++j) g[j] = dy[j];
      return;
    }
    load(a.weight, i, a.n, well, g);
    for (int j = 0; j < kPack; ++j) g[j] *= dy[j];
  }

  __device__ void one_row(std::int64_t row, Two* room, float* dweight, float* dbias, unsigned& most) const {
    Two total{0, 0};
    for (std::int64_t i = thread() * kPack; i < a.n; i += threads * kPack) {
      float u[kPack], dy[kPack], g[kPack];
      normalised(row, i, u);
      incoming(row, i, dy, g);
      for (int j = 0; j < kPack; ++j) total = total + Two{g[j] * u[j], g[j]};
    }
    total = over_block<threads>(total, room, Plus());
    const auto count = static_cast<float>(a.n);
    const float along = total.a / count, shift = kCentred ? total.b / count : 0.0F, rstd = a.rstd[row];
    for (std::int64_t i = thread() * kPack; i < a.n; i += threads * kPack) {
      float u[kPack], dy[kPack], g[kPack];
      normalised(row, i, u);
      incoming(row, i, dy, g);
      for (int j = 0; j < kPack; ++j) {
        if (i + j >= a.n) break;
        if (dweight != nullptr) dweight[i + j] += dy[j] * u[j];
        if (dbias != nullptr) dbias[i + j] += dy[j];
      }
      for (int j = 0; j < kPack; ++j) g[j] = rstd * (g[j] - along * u[j] - shift);
      if (a.dsum != nullptr) {
        load(a.dsum + row * a.n, i, a.n, well, u);
        for (int j = 0; j < kPack; ++j) g[j] += u[j];
      }
      store(g, a.dx + row * a.n, i, a.n, well);
      if (a.largest != nullptr) most = largest_with<T>(most, g, a.n - i);
    }
  }

  __device__ void operator()() const {
    auto* room = shared<Two>();
    float* there[2] = {a.dweight == nullptr ? nullptr : a.room + block() * a.n,
                       a.dbias == nullptr ? nullptr : a.room + (parts + block()) * a.n};
    float* sums[2] = {there[0], there[1]};
    for (int which = 0; which < 2; ++which) {
      if (sums[which] == nullptr) continue;
      if (in_shared) sums[which] = reinterpret_cast<float*>(room + kWarp) + which * a.n;
      own_columns([&](std::int64_t i) { sums[which][i] = 0; });
    }
    unsigned most = 0;
    for (std::int64_t row = block() * kRows; row < (block() + 1) * kRows && row < a.rows; ++row)
      one_row(row, room, sums[0], sums[1], most);
    if (a.largest != nullptr) give_largest<threads>(most, a.largest);
    for (int which = 0; which < 2; ++which) {
      if (in_shared && there[which] != nullptr)
        own_columns([&](std::int64_t i) { there[which][i] = sums[which][i]; });
    }
  }

  template <class Use>
  __device__ void own_columns(const Use& use) const {
    for (std::int64_t i = thread() * kPack; i < a.n; i += threads * kPack)
      for (std::int64_t j = i; j < i + kPack && j < a.n; ++j) use(j);
  }
};

// A row is a pack for each thread, which has its columns' sums, and reads the next row while this one's are added up.
template <int kThreads, class T, bool kCentred>
struct BackwardOfPack {
  static constexpr int threads = kThreads;
  NormBackward<T> a;
  std::int64_t parts;  // blocks
  bool well;

  struct Row {
    alignas(16) T x[kPack], dy[kPack], dsum[kPack];
    float mean, rstd;
  };
  __device__ void read(std::int64_t row, std::int64_t i, Row& out) const {
    load_stored(a.x + row * a.n, i, a.n, well, out.x);
    load_stored(a.dy + row * a.n, i, a.n, well, out.dy);
    if (a.dsum != nullptr) load_stored(a.dsum + row * a.n, i, a.n, well, out.dsum);
    out.mean = kCentred ? a.mean[row] : 0.0F;
    out.rstd = a.rstd[row];
  }
  __device__ void keep(const float (&sums)[kPack], std::int64_t i, float* to) const {
    for (int j = 0; j < kPack; ++j)
      if (i + j < a.n) to[i + j] = sums[j];
  }

  __device__ void operator()() const {
    auto* room = shared<Two>();
    const std::int64_t i = std::int64_t{thread()} * kPack, begin = block() * kRows;
    const std::int64_t end = begin + kRows < a.rows ? begin + kRows : a.rows;
    const auto count = static_cast<float>(a.n);
    float weight[kPack], dweight[kPack] = {}, dbias[kPack] = {};
    if (a.weight != nullptr) load(a.weight, i, a.n, well, weight);
    unsigned most = 0;
    Row next;
    read(begin, i, next);
    for (std::int64_t row = begin; row < end; ++row) {
      const Row now = next;
      if (row + 1 < end) read(row + 1, i, next);
      float u[kPack], g[kPack];
      Two total{0, 0};
      for (int j = 0; j < kPack; ++j) {
        u[j] = (to_float(now.x[j]) - now.mean) * now.rstd;
        g[j] = to_float(now.dy[j]);
        dweight[j] += g[j] * u[j];
        dbias[j] += g[j];
        if (a.weight != nullptr) g[j] *= weight[j];
        total = total + Two{g[j] * u[j], g[j]};
      }
      total = over_block<kThreads>(total, room, Plus());
      const float along = total.a / count, shift = kCentred ? total.b / count : 0.0F;
      for (int j = 0; j < kPack; ++j) {
        g[j] = now.rstd * (g[j] - along * u[j] - shift);
        if (a.dsum != nullptr) g[j] += to_float(now.dsum[j]);
      }
      store(g, a.dx + row * a.n, i, a.n, well);
      if (a.largest != nullptr) most = largest_with<T>(most, g, a.n - i);
    }
    if (a.largest != nullptr) give_largest<kThreads>(most, a.largest);
    if (a.dweight != nullptr) keep(dweight, i, a.room + block() * a.n);
    if (a.dbias != nullptr) keep(dbias, i, a.room + (parts + block()) * a.n);
  }
};

// Calls f with as many threads as a row of at most 4096 elements has packs.
template <class F>
void by_width(std::int64_t n, const F& f) {
  if (n <= 32 * kPack) return f(std::integral_constant<int, 32>());
  if (n <= 128 * kPack) return f(std::integral_constant<int, 128>());
  if (n <= 256 * kPack) return f(std::integral_constant<int, 256>());
  f(std::integral_constant<int, kMostThreads>());
}

template <bool kCentred, class T>
void forward(const NormForward<T>& a, Stream stream) {
  const bool well = packs_lie_well(a.n, a.x, a.residual, a.weight, a.bias, a.sum, a.y);
  if (a.n > kMostThreads * kPack) {
    launch(Forward<T, kCentred>{a, well}, a.rows, kScratch, stream);
    return;
  }
  by_width(a.n, [&](auto threads) {
    launch(ForwardOfPack<decltype(threads)::value, T, kCentred>{a, well}, a.rows, kScratch, stream);
  });
}

template <bool kCentred, class T>
void backward(const NormBackward<T>& a, Stream stream) {
  const bool well = packs_lie_well(a.n, a.x, a.weight, a.dy, a.dsum, a.dx);
  const std::int64_t parts = blocks_for(a.rows, kRows);
  const std::int64_t sums = (a.dbias != nullptr ? 2 : a.dweight != nullptr ? 1 : 0) * a.n;
  const std::int64_t bytes = kScratch + sums * static_cast<std::int64_t>(sizeof(float));
  const bool in_shared = bytes <= kMostShared;
  if (a.n > kMostThreads * kPack) {
    launch(Backward<T, kCentred>{a, parts, well, in_shared}, parts, in_shared ? bytes : kScratch, stream);
  } else {
    by_width(a.n, [&](auto threads) {
      launch(BackwardOfPack<decltype(threads)::value, T, kCentred>{a, parts, well}, parts, kScratch, stream);
    });
  }
  if (a.dweight == nullptr && a.dbias == nullptr) return;
  const bool both = a.dweight != nullptr && a.dbias != nullptr;
  const ColumnSums all{parts, a.n, a.dweight != nullptr ? a.room : a.room + parts * a.n,
                       a.dweight != nullptr ? a.dweight : a.dbias, both ? a.dbias : nullptr};
  launch(all, all.blocks(), ColumnSums::shared_bytes, stream);
}

}  // namespace

std::int64_t norm_backward_room(std::int64_t rows, std::int64_t n) { return 2 * blocks_for(rows, kRows) * n; }

template <class T>
void rms_norm_forward(const NormForward<T>& a, Stream stream) {
  forward<false>(a, stream);
}
template <class T>
void layer_norm_forward(const NormForward<T>& a, Stream stream) {
  forward<true>(a, stream);
}
template <class T>
void rms_norm_backward(const NormBackward<T>& a, Stream stream) {
  backward<false>(a, stream);
}
template <class T>
void layer_norm_backward(const NormBackward<T>& a, Stream stream) {
  backward<true>(a, stream);
}

template void rms_norm_forward(const NormForward<float>&, Stream);
template void rms_norm_forward(const NormForward<Bf16>&, Stream);
template void layer_norm_forward(const NormForward<float>&, Stream);
template void layer_norm_forward(const NormForward<Bf16>&, Stream);
template void rms_norm_backward(const NormBackward<float>&, Stream);
template void rms_norm_backward(const NormBackward<Bf16>&, Stream);
template void layer_norm_backward(const NormBackward<float>&, Stream);
template void layer_norm_backward(const NormBackward<Bf16>&, Stream);

}  // namespace bora::cuda
