// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// For tests: tensors as plain arrays, read and checked element by element in the order of their axes.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/named/ops.h"

namespace bora::testing {

/// Elements by indices: at(x)(i, j).
template <class T>
class Elements {
 public:
  Elements(std::vector<std::int64_t> sizes, std::vector<T> values)
      : sizes_(std::move(sizes)), values_(std::move(values)) {}
  template <class... Is>
  T operator()(Is... indices) const {
    std::int64_t flat = 0;
    std::size_t d = 0;
    ((flat = flat * sizes_.at(d++) + static_cast<std::int64_t>(indices)), ...);
    return values_.at(static_cast<std::size_t>(flat));
  }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<T> values_;
};

template <NamedTensor X>
Elements<float> at(const X& x) {
  return {x.array().sizes(), x.to_vector()};
}
template <IndexTensor I>
Elements<std::int64_t> at(const I& x) {
  return {x.array().sizes(), x.to_vector()};
}

/// Each element of x equals f of its indices; `sizes` are those of x.
template <AnyTensor X, class F>
void expect_each(const X& x, const std::vector<std::int64_t>& sizes, F f, double tolerance = 1e-5) {
  ASSERT_EQ(x.array().sizes(), sizes);
  constexpr std::size_t kRank = axes_of<X>::rank;
  auto got = at(x);
  std::int64_t count = 1;
  for (auto n : sizes) count *= n;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::array<std::int64_t, kRank> i{};
    std::int64_t rest = flat;
    for (std::size_t d = kRank; d-- > 0; rest /= sizes[d]) i[d] = rest % sizes[d];
    double found = static_cast<double>(std::apply(got, i)), expected = static_cast<double>(std::apply(f, i));
    ASSERT_NEAR(found, expected, tolerance) << "element " << flat << " of " << core::describe(x.operand());
  }
}

template <AnyTensor X, AnyTensor Y>
bool same_bits(const X& x, const Y& y) {
  return x.array().sizes() == y.array().sizes() && x.to_vector() == y.to_vector();
}

/// The message of the Error that `body` throws.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace bora::testing
