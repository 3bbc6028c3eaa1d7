// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>

namespace bora::kernels {

/// The largest |x|; 0 of nothing. Infinite or NaN if an element is.
float max_abs(std::int64_t n, const float* x);

/// A sum of squares that does not depend on the order of its terms, nor on how they are grouped: arrays may
/// be cut over workers and threads in any way and give the same bits. Squares of fp32 numbers are exact in
/// double; each is rounded to a multiple of 2^-80 of the square of `largest` (rounded up to a power of two),
/// and whole numbers add up exactly (Demmel and Nguyen 2013 call it pre-rounding).
class SquareSum {
 public:
  /// `largest`: of all elements of all parts, from max_abs; finite.
  explicit SquareSum(float largest);

  void add(std::int64_t n, const float* x);
  /// Another part with the same `largest`.
  SquareSum& operator+=(const SquareSum& other);
  double value() const;

  /// What has been added, to be sent to other workers.
  struct Parts {
    std::int64_t words[4] = {};
  };
  Parts parts() const;
  void add(const Parts& parts);

  /// The same in numbers that doubles hold exactly, of up to 2^43 elements, as a device adds them up: squares
  /// of elements times 2^-e, 2^e being above `largest`, in units of 2^-40 and of 2^-80, and of each how many
  /// times 2^kNumberBits and the rest.
  static constexpr int kNumberBits = 30;
  using Numbers = std::array<double, 4>;
  Numbers numbers() const;
  void add(const Numbers& numbers);

 private:
  int exponent_;  // elements are multiplied by 2^-exponent_, so that they lie within (-1, 1)
  __extension__ __int128 high_ = 0;  // in units of 2^-40
  __extension__ __int128 low_ = 0;   // in units of 2^-80
};

}  // namespace bora::kernels
