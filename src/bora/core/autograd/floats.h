// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: fp32 tensors for the kernels.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include <optional>

#include "bora/core/autograd/cast.h"

namespace bora::core::autograd {

/// x in fp32, contiguous; an undefined tensor for nothing.
inline at::Tensor wide(const at::Tensor& x) { return cast(x, at::kFloat).contiguous(); }
inline at::Tensor wide(const std::optional<at::Tensor>& x) { return x ? wide(*x) : at::Tensor(); }

/// Null for an undefined tensor.
inline const float* data(const at::Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }
inline float* mutable_data(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr<float>() : nullptr;
}

inline at::Tensor new_floats(c10::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, {}, {}, {}, {});
}

}  // namespace bora::core::autograd
