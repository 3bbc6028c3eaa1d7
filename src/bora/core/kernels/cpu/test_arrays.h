// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "bora/base/key.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/kernels/cpu/values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Shared by the kernels' tests.
namespace bora::kernels::testing_arrays {

using Floats = std::vector<float>;

/// Reproducible values in about [-scale, scale), drawn without the kernels under test.
inline Floats random_floats(std::int64_t n, std::uint64_t seed, float scale = 1.0F) {
  const Key key = Key::from_seed(seed);
  Floats x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = (2 * static_cast<float>(key.uniform(i)) - 1) * scale;
  }
  return x;
}

/// Bytes of what `run` returns must be the same for 1, 2, 3 and 4 threads.
inline void expect_equal_bits(const std::function<Floats()>& run) {
  const int before = threads();
  set_threads(1);
  const Floats expected = run();
  for (int n : {2, 3, 4}) {
    set_threads(n);
    const Floats actual = run();
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0)
        << n << " threads";
  }
  set_threads(before);
}

/// Numbers as bfloat16s in memory, and as the fp32 that those are.
struct Halves {
  explicit Halves(const Floats& x) : halves(x.size()), wide(x.size()) {
    to_bf16(static_cast<std::int64_t>(x.size()), x.data(), halves.data());
    from_bf16(static_cast<std::int64_t>(x.size()), halves.data(), wide.data());
  }
  explicit Halves(std::size_t n) : Halves(Floats(n)) {}
  Values values() const { return Values(halves.data()); }
  Results results() { return Results(halves.data()); }

  std::vector<std::uint16_t> halves;
  Floats wide;
};

/// |actual - expected| <= absolute + relative·|expected|, elementwise; NaN counts as different.
inline void expect_close(const Floats& actual, const std::vector<double>& expected, double relative,
                         double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size() && wrong < 5; ++i) {
    const double a = static_cast<double>(actual[i]);
    if (std::abs(a - expected[i]) <= absolute + relative * std::abs(expected[i])) continue;
    ADD_FAILURE() << "element " << i << ": " << a << " instead of " << expected[i];
    ++wrong;
  }
}

inline Floats join(std::initializer_list<Floats> parts) {
  Floats all;
  for (const Floats& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}

}  // namespace bora::kernels::testing_arrays
