// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <string>

namespace bora {

/// The numbers that a key or a flag takes. Infinite ends are no ends; infinity itself and what is not a
/// number are never taken.
struct Range {
  static constexpr double kNoEnd = std::numeric_limits<double>::infinity();

  double least = -kNoEnd, most = kNoEnd;
  bool above = false;                ///< `least` itself is not taken
  bool below = false;                ///< `most` itself is not taken
  std::optional<double> other = {};  ///< one number more: -1 where it means that nothing is given

  bool allows(double value) const;
  /// After "must be": "at least 1", "from 0 to 1", "above 0 and below 1", "-1 or at least 1", "a finite
  /// number".
  std::string words() const;

  /// "must be at least 1" for a value that is not taken, by this range or by the type T. Whole numbers
  /// without an end go up to 2^53, as far as floating point counts.
  template <class T>
  std::optional<std::string> problem(double value) const {
    using Limits = std::numeric_limits<T>;
    constexpr double kEnd = std::integral<T> ? 0x1p53 : static_cast<double>(Limits::max());
    if (!allows(value)) return "must be " + words();
    Range narrow = *this;
    narrow.least = std::max(least == -kNoEnd ? -kEnd : least, static_cast<double>(Limits::lowest()));
    narrow.most = std::min(most == kNoEnd ? kEnd : most, static_cast<double>(Limits::max()));
    if (!narrow.allows(value)) return "must be " + narrow.words();
    return std::nullopt;
  }
};

constexpr Range at_least(double least) { return {.least = least}; }
constexpr Range above(double least) { return {.least = least, .above = true}; }
constexpr Range from_to(double least, double most) { return {.least = least, .most = most}; }
constexpr Range or_else(double other, Range range) {
  range.other = other;
  return range;
}

inline constexpr Range kFinite{};
inline constexpr Range kNonNegative = at_least(0);
inline constexpr Range kPositive = above(0);
/// What is added lest a number be divided by 0: above 0 in fp32 too, and in the sum.
inline constexpr Range kEpsilonRange = from_to(1e-30, 1000);
inline constexpr Range kFraction = from_to(0, 1);
/// The size of an axis, or a number of things that are held at once: from 1 to 2^31 - 1.
inline constexpr Range kSize = from_to(1, 0x7FFFFFFF);
/// The number of a step.
inline constexpr Range kStep = from_to(0, 0x7FFFFFFF);
/// A number of threads; 0: as many as there are cores.
inline constexpr Range kThreads = from_to(0, 0x7FFFFFFF);
/// A number of workers.
inline constexpr Range kWorkers = from_to(1, 1'000'000);
/// A seed: every whole number that is not negative.
inline constexpr Range kSeed = from_to(0, 0x1p63);

/// What documentation adds to a type: ", at least 1" or nothing; `each`: of several numbers.
std::string range_words(const Range* range, bool each = false);

}  // namespace bora
