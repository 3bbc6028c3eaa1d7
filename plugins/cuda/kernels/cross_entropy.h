// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/cross_entropy.h"
#include "numbers.h"

namespace bora::cuda {

template <class T>
struct CrossEntropy {
  std::int64_t rows, vocab;
  T* x;  ///< float or Bf16
  std::int64_t stride;
  const std::int32_t* targets;
  const float* weights;
  float z_loss;
  float* loss;
  float* lse;
  bool gradient;
  kernels::HeadMap map = {};
};
/// kernels::cross_entropy: losses of rows of products, in place of which come their gradients. The loss of a
/// row whose target is beyond the vocabulary is NaN, and so is its gradient.
template <class T>
void cross_entropy(const CrossEntropy<T>& a, Stream stream);

}  // namespace bora::cuda
