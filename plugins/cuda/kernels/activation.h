// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/activation_function.h"
#include "numbers.h"

namespace bora::cuda {

using core::Activation;

// Elementwise; T is float or Bf16. A result may lie where an operand of its own type does. `largest`: null, or raised to
// the largest |element| of the result, of both gradients where there are two.

/// y = f(x), of n elements
template <class T>
void activate(Activation f, std::int64_t n, const T* x, T* y, Stream stream, float* largest = nullptr);
/// dx = dy · f'(x)
template <class T>
void activate_backward(Activation f, std::int64_t n, const T* x, const T* dy, T* dx, Stream stream,
                       float* largest = nullptr);

/// Rows of n elements, which begin so many elements apart in gate and up, and in their gradients; in y and dy there
/// are no gaps.
struct GatedRows {
  std::int64_t rows, n, apart, gradients_apart = 0;
};
/// y = f(gate) · up: SwiGLU, GeGLU and their like
template <class T>
void gated(Activation f, const GatedRows& rows, const T* gate, const T* up, T* y, Stream stream,
           float* largest = nullptr);
template <class T>
void gated_backward(Activation f, const GatedRows& rows, const T* gate, const T* up, const T* dy, T* dgate,
                    T* dup, Stream stream, float* largest = nullptr);

}  // namespace bora::cuda
