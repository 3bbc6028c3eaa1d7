// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

// Elementwise over n contiguous elements; one pass, own exponential (about 1.3 ulp).

enum class Activation { silu, gelu_tanh, gelu_erf, quick_gelu, relu, sigmoid, tanh, exp };

void activate(Activation f, std::int64_t n, const float* x, float* y);
/// dx = dy · f'(x)
void activate_backward(Activation f, std::int64_t n, const float* x, const float* dy, float* dx);

/// y = f(gate) · up
void gated(Activation f, std::int64_t n, const float* gate, const float* up, float* y);
void gated_backward(Activation f, std::int64_t n, const float* gate, const float* up, const float* dy,
                    float* dgate, float* dup);

/// x [rows, n] += bias [n], in place.
void add_bias(std::int64_t rows, std::int64_t n, const float* bias, float* x);

/// Half-split rotary embedding (Su et al. 2021, the "NeoX" layout): the rotated vector is
/// (x1·cos - x2·sin, x2·cos + x1·sin), x1 and x2 the halves of the first 2·half dimensions; the rest is
/// copied. x and y: [batch, position, heads, dim] with strides in elements, dim contiguous; cos, sin:
/// [position, half]. `inverse` rotates back (the backward pass).
struct RopeShape {
  std::int64_t batch, positions, heads, dim, half;
  std::int64_t x_batch, x_position, x_head;
  std::int64_t y_batch, y_position, y_head;
};
void rope(const RopeShape& shape, const float* x, const float* cos, const float* sin, float* y, bool inverse);

}  // namespace bora::kernels
