// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/activation.h"

namespace bora::kernels {

// Elementwise over n contiguous elements; one pass, own exponential (about 1.3 ulp).

using core::Activation;

void activate(Activation f, std::int64_t n, const float* x, float* y);
/// dx = dy · f'(x)
void activate_backward(Activation f, std::int64_t n, const float* x, const float* dy, float* dx);

/// y = f(gate) · up
void gated(Activation f, std::int64_t n, const float* gate, const float* up, float* y);
void gated_backward(Activation f, std::int64_t n, const float* gate, const float* up, const float* dy,
                    float* dgate, float* dup);

/// x [rows, n] += bias [n], in place.
void add_bias(std::int64_t rows, std::int64_t n, const float* bias, float* x);

}  // namespace bora::kernels
