// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "numbers.h"

namespace bora::cuda {

/// out [n] = sum of the rows of x [rows, n], which begin `stride` elements apart: the gradient of a bias.
template <class T>
struct Bias {
  std::int64_t rows, n;
  const T* x;
  std::int64_t stride;
  float* out;
};

template <class T>
void bias_gradient(const Bias<T>& a, Stream stream);

}  // namespace bora::cuda
