// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/rope.h"

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

TEST(Rope, RotatesHalvesAndCopiesTheRest) {
  for (std::int64_t half : {1, 3, 8, 20}) {
    const std::int64_t batch = 2, positions = 3, heads = 2, dim = 2 * half + 5;
    // x is [batch, heads, position, dim], y [batch, position, heads, dim].
    const RopeShape shape{batch,
                          positions,
                          heads,
                          dim,
                          half,
                          heads * positions * dim,
                          dim,
                          positions * dim,
                          positions * heads * dim,
                          heads * dim,
                          dim};
    const std::int64_t n = batch * positions * heads * dim;
    const Floats x = random_floats(n, 13), cos = random_floats(positions * half, 14),
                 sin = random_floats(positions * half, 15);
    Floats y(x.size()), back(x.size());
    rope(shape, x.data(), cos.data(), sin.data(), y.data(), false);
    rope(shape, x.data(), cos.data(), sin.data(), back.data(), true);
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t p = 0; p < positions; ++p) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const float* from = x.data() + ((b * heads + h) * positions + p) * dim;
          const std::int64_t at = ((b * positions + p) * heads + h) * dim;
          const float *to = y.data() + at, *inverse = back.data() + at;
          for (std::int64_t i = 0; i < half; ++i) {
            const float c = cos[static_cast<std::size_t>(p * half + i)],
                        s = sin[static_cast<std::size_t>(p * half + i)];
            EXPECT_NEAR(to[i], from[i] * c - from[half + i] * s, 2e-7);
            EXPECT_NEAR(to[half + i], from[half + i] * c + from[i] * s, 2e-7);
            EXPECT_NEAR(inverse[i], from[i] * c + from[half + i] * s, 2e-7);
          }
          for (std::int64_t i = 2 * half; i < dim; ++i) EXPECT_EQ(to[i], from[i]);
        }
      }
    }
  }
}

TEST(Rope, NeighboursAreHalvesInAnotherOrder) {
  for (std::int64_t half : {1, 3, 8, 20, 37}) {
    const std::int64_t rows = 3, dim = 2 * half + 5;
    RopeShape shape{1, rows, 1, dim, half, rows * dim, dim, dim, rows * dim, dim, dim};
    const Floats x = random_floats(rows * dim, 19), cos = random_floats(rows * half, 20),
                 sin = random_floats(rows * half, 21);
    // Dimension 2·i + j of one is j·half + i of the other.
    const auto reordered = [&](const Floats& from, bool to_halves) {
      Floats out = from;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < half; ++i)
          for (std::int64_t j = 0; j < 2; ++j) {
            const auto a = static_cast<std::size_t>(r * dim + 2 * i + j),
                       b = static_cast<std::size_t>(r * dim + j * half + i);
            (to_halves ? out[b] : out[a]) = to_halves ? from[a] : from[b];
          }
      return out;
    };
    for (const bool inverse : {false, true}) {
      Floats y(x.size()), halves(x.size());
      shape.neighbours = true;
      rope(shape, x.data(), cos.data(), sin.data(), y.data(), inverse);
      shape.neighbours = false;
      rope(shape, reordered(x, true).data(), cos.data(), sin.data(), halves.data(), inverse);
      EXPECT_EQ(y, reordered(halves, false)) << half;
    }
  }
}

TEST(Rope, InPlaceGivesTheSame) {
  for (const bool neighbours : {false, true}) {
    RopeShape shape{1, 4, 3, 16, 8, 192, 48, 16, 192, 48, 16};
    shape.neighbours = neighbours;
    const Floats x = random_floats(192, 16), cos = random_floats(32, 17), sin = random_floats(32, 18);
    Floats y(192), z = x;
    rope(shape, x.data(), cos.data(), sin.data(), y.data(), false);
    rope(shape, z.data(), cos.data(), sin.data(), z.data(), false);
    EXPECT_EQ(y, z);
  }
}

TEST(Rope, OfBfloat16sIsThatOfTheirNumbersRounded) {
  for (const bool neighbours : {false, true}) {
    RopeShape shape{1, 4, 3, 17, 8, 204, 51, 17, 204, 51, 17};
    shape.neighbours = neighbours;
    const Halves x(random_floats(204, 16));
    const Floats cos = random_floats(32, 17), sin = random_floats(32, 18);
    Floats y(204);
    Halves y2(y.size()), in_place = x;
    rope(shape, x.wide.data(), cos.data(), sin.data(), y.data(), false);
    rope(shape, x.values(), cos.data(), sin.data(), y2.results(), false);
    rope(shape, in_place.values(), cos.data(), sin.data(), in_place.results(), false);
    EXPECT_EQ(y2.halves, Halves(y).halves);
    EXPECT_EQ(in_place.halves, y2.halves);
  }
}

}  // namespace
}  // namespace bora::kernels
