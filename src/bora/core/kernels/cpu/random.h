// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/base/key.h"

namespace bora::kernels {

// Element i (a global index) of a distribution under a key, for i in [first, first + n): any part of an array
// can be drawn alone, with the values the whole would have. Four 32-bit words make four elements.

/// Uniform in [low, high).
void uniform(Key key, std::int64_t first, std::int64_t n, float low, float high, float* out);
/// Box-Muller from 32-bit uniforms.
void normal(Key key, std::int64_t first, std::int64_t n, float mean, float std, float* out);
/// Normal truncated to [low, high] standard deviations, by inversion.
void truncated_normal(Key key, std::int64_t first, std::int64_t n, float low, float high, float scale,
                      float* out);
/// Word i of the key: Key::words().
void words(Key key, std::int64_t first, std::int64_t n, std::uint32_t* out);
/// y = x / (1-p) where the element is kept (probability 1-p), else 0.
void dropout(Key key, std::int64_t first, std::int64_t n, float p, const float* x, float* y);

}  // namespace bora::kernels
