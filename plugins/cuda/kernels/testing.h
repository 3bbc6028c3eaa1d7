// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Shared by the kernels' tests.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "../stand_ins/host_threads.h"
#include "numbers.h"

namespace bora::cuda::testing {

template <class T>
using List = std::vector<T>;

/// Values in [-scale, scale), as T has them.
template <class T>
List<T> random(std::int64_t n, unsigned seed, float scale = 1) {
  std::mt19937 chance(seed);
  List<T> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const float unit = static_cast<float>(chance()) * 0x1p-31F - 1;
    out.push_back(from_float<T>(unit * scale));
  }
  return out;
}

template <class T>
T* pointer(List<T>& x) {
  return x.empty() ? nullptr : x.data();
}
template <class T>
const T* pointer(const List<T>& x) {
  return x.empty() ? nullptr : x.data();
}

template <class T>
List<double> wide(const List<T>& x) {
  List<double> out;
  for (const T v : x) out.push_back(static_cast<double>(to_float(v)));
  return out;
}

/// How far an element may be off: a part of it, and this much. Of bf16 its rounding, half of 2^-7, too.
struct Within {
  double part = 2e-6, absolute = 2e-6;
};
template <class T>
void expect_close(const char* what, const List<T>& got, const List<double>& want, Within within = {}) {
  if (sizeof(T) == 2) within.part += 0x1p-8;
  ASSERT_EQ(got.size(), want.size()) << what;
  int wrong = 0;
  for (std::size_t i = 0; i < got.size() && wrong < 5; ++i) {
    const double x = static_cast<double>(to_float(got[i]));
    if (std::abs(x - want[i]) <= within.absolute + within.part * std::abs(want[i])) continue;
    ADD_FAILURE() << what << '[' << i << "]: " << x << " instead of " << want[i];
    ++wrong;
  }
}

/// Runs it with each order of threads: the outputs, NaN before each run, get the same bits in all of them.
template <class Run, class... T>
void in_all_orders(const Run& run, List<T>&... outputs) {
  const auto fill = [](auto& list) {
    if (!list.empty()) std::memset(list.data(), 0xff, list.size() * sizeof(list[0]));
  };
  List<std::uint8_t> first;
  for (const auto order :
       {host::Order::backward, host::Order::by_warps, host::Order::shuffled, host::Order::forward}) {
    host::set_order(order);
    (fill(outputs), ...);
    run();
    List<std::uint8_t> bits;
    const auto add = [&](const auto& list) {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(list.data());
      bits.insert(bits.end(), begin, begin + list.size() * sizeof(list[0]));
    };
    (add(outputs), ...);
    if (first.empty()) first = bits;
    EXPECT_TRUE(bits == first) << "other bits in order " << static_cast<int>(order);
  }
}

/// The largest |element|.
template <class T>
double largest_in(const List<T>& x) {
  double most = 0;
  for (const double v : wide(x)) most = std::max(most, std::abs(v));
  return most;
}

/// `run` for both types of elements.
template <class Run>
void for_both_types(const Run& run) {
  {
    SCOPED_TRACE("fp32");
    run(float());
  }
  {
    SCOPED_TRACE("bf16");
    run(Bf16());
  }
}

}  // namespace bora::cuda::testing
