// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bora/report/curves.h"

namespace bora::report {

/// A stretch of a curve as it is drawn: its mean, its least and greatest value, at the middle of its steps.
struct Stretch {
  double step = 0, mean = 0, least = 0, greatest = 0;
};

/// The finite values of a curve in at most `most` stretches of equally many points.
std::vector<Stretch> stretches(const Curve& curve, std::size_t most);
/// Steps whose value is none: NaN or infinite.
std::vector<std::int64_t> non_finite_steps(const Curve& curve);

/// Marks from `least` to `greatest` at 1, 2 or 5 times a power of ten: six at most, and one where both
/// are the same.
std::vector<double> ticks(double least, double greatest);

/// A curve in a chart: whose, and in which of the page's colours (0 to 7).
struct ChartLine {
  std::string name;
  const Curve* curve = nullptr;
  std::size_t color = 0;
};

/// A figure: title, curves over the steps with the range of each stretch behind its mean, red marks where a
/// value was not finite. Nothing where no line has a finite value. Under the pointer the page's script shows
/// the values.
std::string chart(const std::string& title, std::span<const ChartLine> lines);

}  // namespace bora::report
