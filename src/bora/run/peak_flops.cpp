// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/peak_flops.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/core/read_back.h"
#include "bora/core/shape.h"

namespace bora::run {
namespace {

// Names that no mesh cuts.
constexpr std::array<std::string_view, 2> kLeft = {"peak_row", "peak_inner"},
                                          kRight = {"peak_inner", "peak_column"},
                                          kOut = {"peak_row", "peak_column"};

/// Two matrices of one size.
class Product {
 public:
  Product(std::int64_t size, core::DType compute) : size_(size) {
    const std::array<std::int64_t, 2> sizes = {size, size};
    left_ = core::full({kLeft, sizes}, 0.5, compute);
    right_ = core::full({kRight, sizes}, 0.25, compute);
    seconds();  // makes what the first product of a size makes
  }
  /// Of one, `times` of which were computed one after another.
  double seconds(int times = 1) const {
    const double started = monotonic_seconds();
    core::Array out;
    for (int i = 0; i < times; ++i) out = core::dot({left_, kLeft}, {right_, kRight}, kOut);
    const auto row = core::slice({out, kOut}, kOut[0], 0, 1);
    core::Number(core::slice({row, kOut}, kOut[1], 0, 1)).value();  // a device is done then
    return std::max(monotonic_seconds() - started, 1e-9) / times;
  }
  double flops() const { return 2.0 * static_cast<double>(size_) * static_cast<double>(size_ * size_); }

 private:
  std::int64_t size_;
  core::Array left_, right_;
};

// Products are long enough where starting their threads, or waiting for a device, is a small part of it.
constexpr double kLongEnough = 0.005;
constexpr int kMostTimes = 100;
constexpr std::int64_t kSmallest = 512, kLargest = 4096;

std::string in_units(double per_second) {
  constexpr std::array<std::string_view, 4> kUnits = {"M", "G", "T", "P"};
  std::size_t unit = 0;
  double value = per_second / 1e6;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}FLOP/s", value, kUnits[unit]);
}

}  // namespace

double measure_peak_flops(core::DType compute, double seconds) {
  const core::MappingScope whole(nullptr);
  const double started = monotonic_seconds();
  double best = 0;
  for (auto size = kSmallest;; size *= 2) try {
      const Product product(size, compute);
      double took = product.seconds();
      const bool is_last = took >= kLongEnough || size >= kLargest;
      const int times = is_last ? std::clamp(static_cast<int>(kLongEnough / took), 1, kMostTimes) : 1;
      do {
        best = std::max(best, product.flops() / took);
        took = product.seconds(times);
      } while (is_last && monotonic_seconds() - started < seconds);
      best = std::max(best, product.flops() / took);
      if (is_last) return best;
    } catch (const Error& e) {  // no room for a larger one, which says nothing of the run's own arrays
      if (e.kind() != ErrorKind::Io || best == 0) throw;
      return best;
    }
}

Peak find_peak(const train::TrainerConfig& config, std::optional<double> recorded,
               mesh::Communicator& workers) {
  if (const auto given = config.peak_flops.per_second) return {*given, Peak::From::configuration};
  double known = recorded.value_or(0);
  workers.broadcast(0, std::as_writable_bytes(std::span(&known, 1)));
  if (known > 0) return {known, Peak::From::record};
  workers.barrier();  // workers of one machine share what it can do
  const double mine = measure_peak_flops(config.mp.compute);
  std::vector<double> all(static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  Peak peak;
  for (const double each : all) peak.per_second += each;
  return peak;
}

std::string describe_peak(const Peak& peak, core::DType compute) {
  auto rate = in_units(peak.per_second);
  switch (peak.from) {
    case Peak::From::configuration:
      return rate + ", by trainer.peak_flops";
    case Peak::From::record:
      return fmt::format("{} in {}, as measured at an earlier start", rate, core::name(compute));
    case Peak::From::measured:
      return fmt::format("{} in {}, measured", rate, core::name(compute));
  }
  return rate;
}

}  // namespace bora::run
