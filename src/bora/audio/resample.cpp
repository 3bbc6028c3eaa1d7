// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "bora/base/error.h"

namespace bora::audio {
namespace {

constexpr double kZeros = 32, kPassBand = 0.95, kKaiserBeta = 9;

double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return std::abs(angle) < 1e-12 ? 1 : std::sin(angle) / angle;
}

// The modified Bessel function of order zero, by its power series.
double bessel_i0(double x) {
  double term = 1, sum = 1;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// `x` in -1..1
double kaiser(double x) { return bessel_i0(kKaiserBeta * std::sqrt(std::max(0.0, 1 - x * x))); }

// Output n lies at input place n * step / parts, so outputs `parts` apart have the same weights.
struct Ratio {
  std::int64_t parts, step;
  double cutoff;  // of the input's Nyquist frequency
  std::int64_t reach() const { return static_cast<std::int64_t>(std::ceil(kZeros / cutoff)); }
};

Ratio ratio_of(std::int64_t from, std::int64_t to) {
  const std::int64_t common = std::gcd(from, to);
  const double lower = std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  return {to / common, from / common, kPassBand * lower};
}

// For the inputs from `reach` before an output's place to `reach` after it; they sum to one.
std::vector<double> weights_at(double fraction, const Ratio& ratio) {
  const std::int64_t reach = ratio.reach();
  std::vector<double> weights;
  for (std::int64_t i = -reach; i <= reach + 1; ++i) {
    const double x = ratio.cutoff * (static_cast<double>(i) - fraction);
    weights.push_back(std::abs(x) < kZeros ? sinc(x) * kaiser(x / kZeros) : 0);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

float weighted(std::span<const float> sound, std::int64_t first, const std::vector<double>& weights) {
  const auto size = static_cast<std::int64_t>(sound.size());
  const std::int64_t begin = std::max<std::int64_t>(first, 0);
  const std::int64_t end = std::min(size, first + static_cast<std::int64_t>(weights.size()));
  double sum = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    sum += weights[static_cast<std::size_t>(i - first)] *
           static_cast<double>(sound[static_cast<std::size_t>(i)]);
  }
  return static_cast<float>(sum);
}

}  // namespace

std::vector<float> resample(std::span<const float> sound, std::int64_t from, std::int64_t to) {
  if (from < 1 || to < 1)
    fail(ErrorKind::InvalidArgument, "resample: rates should be 1 Hz or more but are {} and {}", from, to);
  if (from == to) return {sound.begin(), sound.end()};
  const Ratio ratio = ratio_of(from, to);
  const auto size = static_cast<std::int64_t>(sound.size());
  const std::int64_t outputs = (size * ratio.parts + ratio.step - 1) / ratio.step;
  std::vector<float> out(static_cast<std::size_t>(outputs));
  for (std::int64_t phase = 0; phase < std::min(ratio.parts, outputs); ++phase) {
    const std::int64_t past = phase * ratio.step % ratio.parts;
    const auto weights = weights_at(static_cast<double>(past) / static_cast<double>(ratio.parts), ratio);
    for (std::int64_t n = phase; n < outputs; n += ratio.parts) {
      out[static_cast<std::size_t>(n)] =
          weighted(sound, n * ratio.step / ratio.parts - ratio.reach(), weights);
    }
  }
  return out;
}

}  // namespace bora::audio
