// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Arrays of n elements, as the kernels of a device take many of them at once (core/device_kernels.h). `largest` gets the
// largest |element|, NaN if one is not finite.
#pragma once
#include <cstdint>

#include "bora/core/whole_index.h"

namespace bora::kernels {

struct Stepped {
  std::int64_t n;
  float* parameter;
  const float* gradient;
  float* mean;
  float* square;
  float weight_decay;
  void* copy = nullptr;      ///< null, or gets the new parameter rounded to bf16
  float* largest = nullptr;  ///< null, or one, 0 before: of the copy
};

/// Moments in bf16, which chance rounds: the mean by the lower half of a word, the square by the upper one.
struct SteppedBf16 {
  std::int64_t n;
  float* parameter;
  const float* gradient;
  void* mean;
  void* square;
  float weight_decay;
  void* copy;
  Rounding rounding;
  float* largest = nullptr;
};

struct Added {
  std::int64_t n;
  float* into;
  const float* from;
  bool stores = false;  ///< into = from, whatever is there
};

struct Narrowed {
  std::int64_t n;
  const float* from;
  void* to;                  ///< bf16
  float* largest = nullptr;  ///< null, or one, 0 before: of `to`
};

/// What is found of n choices of experts, in the words of core/autograd/device_experts.h.
struct SlotPlaces {
  std::int32_t* place;   ///< [n]
  std::int32_t* rows;    ///< [experts]
  std::int32_t* ends;    ///< [experts]
  std::int32_t* visits;  ///< [n + 8 · experts]: 0 where there is none
  std::int64_t* pads;    ///< [8 · experts], ascending
};

struct Measured {
  std::int64_t n;
  const float* x;
  float* largest;   ///< one
  double* numbers;  ///< four
};

}  // namespace bora::kernels
