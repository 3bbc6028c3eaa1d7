// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "rope.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

struct Sizes {
  std::int64_t batch, positions, heads, dim, half;
};
constexpr Sizes kRopeSizes[] = {
    {1, 1, 1, 2, 1}, {2, 3, 2, 14, 5}, {1, 5, 3, 64, 32}, {2, 9, 2, 80, 16}, {1, 2, 3, 24, 8}};

template <class T>
void turn_one(const kernels::RopeShape& s, const T* x, const float* cos, const float* sin, T* y,
              bool inverse) {
  const kernels::Turned one{s, x, y};
  rope<T>(1, &one, cos, sin, inverse, nullptr);
}

// x lies as [batch, position, head, dim] in wider rows, y as [batch, head, position, dim].
template <class T>
void check(const Sizes& z, bool neighbours) {
  const std::int64_t wide_row = z.heads * z.dim + 8, vectors = z.batch * z.positions * z.heads;
  const auto x = random<T>(z.batch * z.positions * wide_row, 1);
  const auto cos = random<float>(z.positions * z.half, 2), sin = random<float>(z.positions * z.half, 3);
  const kernels::RopeShape s{.batch = z.batch,
                             .positions = z.positions,
                             .heads = z.heads,
                             .dim = z.dim,
                             .half = z.half,
                             .x_batch = z.positions * wide_row,
                             .x_position = wide_row,
                             .x_head = z.dim,
                             .y_batch = z.heads * z.positions * z.dim,
                             .y_position = z.dim,
                             .y_head = z.positions * z.dim,
                             .neighbours = neighbours};
  for (const bool inverse : {false, true}) {
    List<T> y(vectors * z.dim);
    in_all_orders([&] { turn_one(s, x.data(), cos.data(), sin.data(), y.data(), inverse); }, y);
    List<double> want(y.size());
    for (std::int64_t b = 0; b < z.batch; ++b) {
      for (std::int64_t p = 0; p < z.positions; ++p) {
        for (std::int64_t h = 0; h < z.heads; ++h) {
          const T* from = x.data() + b * s.x_batch + p * s.x_position + h * s.x_head;
          double* to = want.data() + b * s.y_batch + p * s.y_position + h * s.y_head;
          for (std::int64_t i = 0; i < z.dim; ++i) to[i] = to_float(from[i]);
          for (std::int64_t i = 0; i < z.half; ++i) {
            const auto first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : z.half + i;
            const double c = cos[p * z.half + i], d = (inverse ? -1 : 1) * double(sin[p * z.half + i]);
            to[first] = to_float(from[first]) * c - to_float(from[second]) * d;
            to[second] = to_float(from[second]) * c + to_float(from[first]) * d;
          }
        }
      }
    }
    expect_close("y", y, want);
  }
  auto in_place = x;
  kernels::RopeShape same = s;
  same.y_batch = s.x_batch, same.y_position = s.x_position, same.y_head = s.x_head;
  List<T> apart(x.size());
  turn_one(same, x.data(), cos.data(), sin.data(), apart.data(), false);
  turn_one(same, in_place.data(), cos.data(), sin.data(), in_place.data(), false);
  for (std::int64_t b = 0; b < z.batch * z.positions; ++b) {
    for (std::int64_t i = 0; i < z.heads * z.dim; ++i)
      ASSERT_EQ(to_float(in_place[b * wide_row + i]), to_float(apart[b * wide_row + i]));
  }
}

TEST(CudaRope, AgreesWithThePlainFormula) {
  for_both_types([](auto t) {
    for (const Sizes& z : kRopeSizes) {
      for (const bool neighbours : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "dim " << z.dim << ", half " << z.half << ", neighbours " << neighbours);
        check<decltype(t)>(z, neighbours);
      }
    }
  });
}

// Queries and keys of other heads, by one kernel: what each gives alone.
TEST(CudaRope, TurnsTwoArraysAtOnce) {
  for_both_types([](auto t) {
    using T = decltype(t);
    constexpr std::int64_t kPositions = 5, kDim = 24, kHalf = 8;
    const auto cos = random<float>(kPositions * kHalf, 1), sin = random<float>(kPositions * kHalf, 2);
    const auto shape = [&](std::int64_t heads) {
      const std::int64_t row = heads * kDim, all = kPositions * row;
      return kernels::RopeShape{2, kPositions, heads, kDim, kHalf, all, row, kDim, all, row, kDim, false};
    };
    const kernels::RopeShape many = shape(7), few = shape(1);
    const auto q = random<T>(2 * kPositions * 7 * kDim, 3), k = random<T>(2 * kPositions * kDim, 4);
    for (const bool inverse : {false, true}) {
      List<T> q_alone(q.size()), k_alone(k.size()), q_both(q.size()), k_both(k.size());
      turn_one(many, q.data(), cos.data(), sin.data(), q_alone.data(), inverse);
      turn_one(few, k.data(), cos.data(), sin.data(), k_alone.data(), inverse);
      const kernels::Turned both[] = {{many, q.data(), q_both.data()}, {few, k.data(), k_both.data()}};
      in_all_orders([&] { rope<T>(2, both, cos.data(), sin.data(), inverse, nullptr); }, q_both, k_both);
      for (std::size_t i = 0; i < q.size(); ++i) ASSERT_EQ(to_float(q_both[i]), to_float(q_alone[i])) << i;
      for (std::size_t i = 0; i < k.size(); ++i) ASSERT_EQ(to_float(k_both[i]), to_float(k_alone[i])) << i;
    }
  });
}

}  // namespace
}  // namespace bora::cuda
