// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/conv.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/shape.h"

namespace bora::nn::detail {

core::Array zero_padded(const core::Operand& x, std::string_view axis, std::int64_t zeros) {
  if (zeros == 0) return x.array;
  auto sizes = x.array.sizes();
  sizes[static_cast<std::size_t>(std::find(x.names.begin(), x.names.end(), axis) - x.names.begin())] = zeros;
  const core::Array edge = core::zeros({x.names, sizes}, x.array.dtype());
  const std::array<core::Operand, 3> parts{{{edge, x.names}, x, {edge, x.names}}};
  return core::concatenate(parts, axis);
}

std::vector<std::int32_t> conv_reads(std::int64_t padded, std::int64_t taps, std::int64_t stride) {
  if (padded < taps || stride < 1) {
    fail(ErrorKind::InvalidArgument,
         "convolution: {} places, padding included, for a kernel of {} taps with stride {}\nhint: a longer "
         "input, more padding, and a stride of 1 or more",
         padded, taps, stride);
  }
  std::vector<std::int32_t> reads;
  for (std::int64_t first = 0; first + taps <= padded; first += stride) {
    for (std::int64_t tap = 0; tap < taps; ++tap) reads.push_back(static_cast<std::int32_t>(first + tap));
  }
  return reads;
}

}  // namespace bora::nn::detail
