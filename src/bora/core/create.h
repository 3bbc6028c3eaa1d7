// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <span>

#include "bora/base/key.h"
#include "bora/core/array.h"

namespace bora::core {

Array zeros(const Shape& shape, DType dtype = DType::f32);
Array ones(const Shape& shape, DType dtype = DType::f32);
Array full(const Shape& shape, double value, DType dtype = DType::f32);
/// start, start + step, ... along the one axis of `shape`.
Array arange(const Shape& shape, double start = 0, double step = 1, DType dtype = DType::i64);
/// Contents not set; for buffers that are written before they are read.
Array uninitialized(const Shape& shape, DType dtype = DType::f32);

/// Copies row-major elements; an error if their number is not the shape's.
Array from_data(const Shape& shape, std::span<const float> elements);
Array from_data(const Shape& shape, std::span<const double> elements);
Array from_data(const Shape& shape, std::span<const std::int32_t> elements);
Array from_data(const Shape& shape, std::span<const std::int64_t> elements);
/// Segments [batch..., position], which do not see each other (AttentionRule::query_segments): as from_data(), and
/// attention on a device knows where they begin without asking it.
Array from_segments(const Shape& shape, std::span<const std::int32_t> elements);
/// Bytes of any dtype, row-major, little endian.
Array from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> bytes);

// Random values (fp32): element i of the row-major *global* array depends on (key, i) alone.
Array random_uniform(Key key, const Shape& shape, double low = 0, double high = 1);
Array random_normal(Key key, const Shape& shape, double mean = 0, double std = 1);
/// Normal values cut to [low, high] standard deviations, then multiplied by `scale`.
Array random_truncated_normal(Key key, const Shape& shape, double low, double high, double scale = 1);

/// Zeroes each element with probability p and scales the rest by 1/(1-p). p = 0 returns x.
Array dropout(const Operand& x, double p, Key key);

}  // namespace bora::core
