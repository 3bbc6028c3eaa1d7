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
    in_all_orders([&] { rope(s, x.data(), cos.data(), sin.data(), y.data(), inverse, nullptr); }, y);
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
  rope(same, x.data(), cos.data(), sin.data(), apart.data(), false, nullptr);
  rope(same, in_place.data(), cos.data(), sin.data(), in_place.data(), false, nullptr);
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

}  // namespace
}  // namespace bora::cuda
