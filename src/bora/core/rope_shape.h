// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Rotary embedding (Su et al. 2021): the rotated vector is (x1·cos - x2·sin, x2·cos + x1·sin), x1 and x2 the
/// halves of the first 2·half dimensions (the "NeoX" layout) or, of `neighbours`, their even and odd ones (the
/// paper's and GPT-J's); the rest is copied. x and y: [batch, position, heads, dim], strides in elements, dim
/// contiguous; cos, sin: [position, half]. `inverse` rotates back (the backward pass).
struct RopeShape {
  std::int64_t batch, positions, heads, dim, half;
  std::int64_t x_batch, x_position, x_head;
  std::int64_t y_batch, y_position, y_head;
  bool neighbours = false;
};

/// An array that a device's kernel turns (core/device_kernels.h), x into y.
struct Turned {
  RopeShape shape;
  const void* x;
  void* y;
};

}  // namespace bora::kernels
