// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/activation.h"
#include "bora/core/kernels/cpu/values.h"

namespace bora::kernels {

// Elementwise over n contiguous elements; one pass in fp32, own exponential (about 1.3 ulp).

using core::Activation;

void activate(Activation f, std::int64_t n, Values x, Results y);
/// dx = dy · f'(x)
void activate_backward(Activation f, std::int64_t n, Values x, Values dy, Results dx);

/// y = f(gate) · up
void gated(Activation f, std::int64_t n, Values gate, Values up, Results y);
void gated_backward(Activation f, std::int64_t n, Values gate, Values up, Values dy, Results dgate,
                    Results dup);

/// x [rows, n] += bias [n], in place.
void add_bias(std::int64_t rows, std::int64_t n, const float* bias, float* x);

}  // namespace bora::kernels
