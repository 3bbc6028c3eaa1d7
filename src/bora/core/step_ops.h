// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a training step does with whole arrays beside differentiation: fp32, contiguous, in place, not
// recorded. On the CPU with kernels whose bits do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "bora/core/adamw_step.h"
#include "bora/core/array.h"
#include "bora/core/whole_index.h"

namespace bora::core {

// Errors of all: InvalidArgument for arrays that are not fp32 and contiguous, or differ in their number of
// elements or their device.

/// One step of kernels::AdamW on arrays.
void adamw(const kernels::AdamW& step, Array& parameter, const Array& gradient, Array& mean, Array& square);
/// What one of several steps of one rule works on, with its decay in place of the rule's.
struct AdamWArrays {
  Array& parameter;
  const Array& gradient;
  Array& mean;
  Array& square;
  float weight_decay;
  /// Null: mean and square are fp32. Else both are bf16, and chance rounds them, each with a half of a word.
  const kernels::Rounding* rounding = nullptr;
};
/// into (bf16) = from (fp32), rounded by chance.
void by_chance(Array& into, const Array& from, const kernels::Rounding& rounding);
/// adamw() of each: on a device in as few launches as there can be.
void adamw(const kernels::AdamW& step, std::span<const AdamWArrays> arrays);
/// into += from: the only operation of the lane tree.
void add_into(Array& into, const Array& from);
struct Addition {
  Array* into;
  const Array* from;
  bool stores = false;  ///< into = from, whatever is there
};
/// All of them, on a device in as few launches as there can be.
void add_into(std::span<const Addition> all);
/// into = keep · into + factor · from
void add_scaled(Array& into, float factor, const Array& from, float keep = 1);

// Sums of squares, exact, so that the order of additions matters on no device and not between ranks. Both
// numbers stay where x lies, and the host waits for neither:
//
//     ReadBack read;                                              // core/read_back.h
//     const Array largest = max_abs(x);
//     const auto most = read.add(largest), numbers = read.add(square_numbers(x, largest));
//     read.wait();
//     double sum = sum_of_squares(read.value(most), read.values(numbers));

/// f32 []: the largest |x|; 0 of nothing. NaN if an element is infinite or NaN.
Array max_abs(const Array& x);
/// f64 [4]: kernels::SquareSum::Numbers of x, where `largest` is max_abs of x, or of all ranks' shards of it;
/// of no meaning where that is NaN.
Array square_numbers(const Array& x, const Array& largest);
/// Both of each, in as few launches as there can be; nothing if they do not lie on one device that has kernels for it.
struct ManySquares {
  Array largest;  ///< f32 [arrays]
  Array numbers;  ///< f64 [arrays, 4]
};
std::optional<ManySquares> squares_of_many(std::span<const Array> arrays);
/// Of both; `largest` itself where that is not finite.
double sum_of_squares(double largest, std::span<const double> numbers);
/// Place in row-major order of the first element that is NaN or infinite, or -1.
std::int64_t first_non_finite(const Array& x);

}  // namespace bora::core
