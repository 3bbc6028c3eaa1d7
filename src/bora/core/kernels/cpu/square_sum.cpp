// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/square_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/square_sum.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

// Sums of one chunk, `high` in units of 2^-40 and `low` of 2^-80. x² < 1. Adding and taking away 1.5·2^(52-k)
// rounds to a multiple of 2^-k; what is left is exact. Of at most 4,096 terms the sums are exact, so lanes
// may add in any order.
void square_units(const float* x, i64 n, double scale, double* high_sum, double* low_sum) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const i64 width = static_cast<i64>(hn::Lanes(d));
  const auto by = hn::Set(d, scale);
  const auto coarse = hn::Set(d, 0x1.8p12), fine = hn::Set(d, 0x1.8p-28);
  auto high = hn::Zero(d), low = hn::Zero(d);
  for (i64 i = 0; i < n; i += width) {
    const auto part = n - i >= width ? hn::LoadU(df, x + i) : load_part(df, x + i, n - i);
    const auto v = hn::Mul(hn::PromoteTo(d, part), by);
    const auto square = hn::Mul(v, v);
    const auto rounded = hn::Sub(hn::Add(square, coarse), coarse);
    const auto rest = hn::Sub(square, rounded);
    high = hn::Add(high, rounded);
    low = hn::Add(low, hn::Sub(hn::Add(rest, fine), fine));
  }
  *high_sum = hn::GetLane(hn::SumOfLanes(d, high)) * 0x1p40;
  *low_sum = hn::GetLane(hn::SumOfLanes(d, low)) * 0x1p80;
}

float largest_of(const float* x, i64 n) {
  const Wide d;
  const i64 width = lanes(d);
  auto most = hn::Zero(d);
  auto bad = hn::Zero(d);  // NaN once one was seen
  for (i64 i = 0; i < n; i += width) {
    const auto v = n - i >= width ? hn::LoadU(d, x + i) : load_part(d, x + i, n - i);
    most = hn::Max(most, hn::Abs(v));
    bad = hn::Add(bad, hn::Sub(v, v));  // inf - inf is NaN too
  }
  HWY_ALIGN float values[hn::MaxLanes(d)];
  HWY_ALIGN float nans[hn::MaxLanes(d)];
  hn::Store(most, d, values);
  hn::Store(bad, d, nans);
  float out = 0;
  for (i64 i = 0; i < width; ++i) {
    if (nans[i] != 0) return std::numeric_limits<float>::quiet_NaN();
    out = std::max(out, values[i]);
  }
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(square_units);
HWY_EXPORT(largest_of);

constexpr std::int64_t kExact = 4096;        // terms whose sum is exact in double
constexpr std::int64_t kTask = 16 * kExact;  // of one thread at a time
constexpr int kWord = 62;                    // bits of the lower of two words

}  // namespace

float max_abs(std::int64_t n, const float* x) {
  float most = 0;
  bool bad = false;
  std::mutex mutex;
  for_chunks(n, kTask, [&](std::int64_t begin, std::int64_t end) {
    const float part = HWY_DYNAMIC_DISPATCH(largest_of)(x + begin, end - begin);
    const std::lock_guard lock(mutex);
    if (std::isnan(part)) bad = true;
    most = std::max(most, part);
  });
  return bad ? std::numeric_limits<float>::quiet_NaN() : most;
}

SquareSum::SquareSum(float largest) : exponent_(0) {
  if (largest > 0) std::frexp(static_cast<double>(largest), &exponent_);
}

void SquareSum::add(std::int64_t n, const float* x) {
  const double scale = std::ldexp(1.0, -exponent_);
  std::mutex mutex;
  for_chunks(n, kTask, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t high = 0, low = 0;
    for (std::int64_t at = begin; at < end; at += kExact) {
      double h = 0, l = 0;
      HWY_DYNAMIC_DISPATCH(square_units)(x + at, std::min(kExact, end - at), scale, &h, &l);
      high += static_cast<std::int64_t>(h);
      low += static_cast<std::int64_t>(l);
    }
    const std::lock_guard lock(mutex);
    high_ += high;
    low_ += low;
  });
}

SquareSum& SquareSum::operator+=(const SquareSum& other) {
  high_ += other.high_;
  low_ += other.low_;
  return *this;
}

double SquareSum::value() const {
  const double sum = static_cast<double>(high_) * 0x1p-40 + static_cast<double>(low_) * 0x1p-80;
  return std::ldexp(sum, 2 * exponent_);
}

SquareSum::Parts SquareSum::parts() const {
  constexpr std::int64_t kRest = (std::int64_t{1} << kWord) - 1;
  return {{static_cast<std::int64_t>(high_ >> kWord), static_cast<std::int64_t>(high_ & kRest),
           static_cast<std::int64_t>(low_ >> kWord), static_cast<std::int64_t>(low_ & kRest)}};
}

void SquareSum::add(const Parts& parts) {
  high_ += static_cast<decltype(high_)>(parts.words[0]) * (std::int64_t{1} << kWord) + parts.words[1];
  low_ += static_cast<decltype(low_)>(parts.words[2]) * (std::int64_t{1} << kWord) + parts.words[3];
}

SquareSum::Numbers SquareSum::numbers() const {
  constexpr std::int64_t kRest = (std::int64_t{1} << kNumberBits) - 1;
  return {static_cast<double>(high_ >> kNumberBits), static_cast<double>(high_ & kRest),
          static_cast<double>(low_ >> kNumberBits), static_cast<double>(low_ & kRest)};
}

void SquareSum::add(const Numbers& numbers) {
  const auto units = [&](std::size_t first) {
    return static_cast<decltype(high_)>(numbers[first]) * (std::int64_t{1} << kNumberBits) +
           static_cast<decltype(high_)>(numbers[first + 1]);
  };
  high_ += units(0);
  low_ += units(2);
}

}  // namespace bora::kernels
#endif  // HWY_ONCE
