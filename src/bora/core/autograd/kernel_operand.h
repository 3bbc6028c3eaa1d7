// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: tensors for the kernels of the CPU or of a device that take fp32 and bf16.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/values.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {

/// x as its kernel takes it: contiguous; bf16 as it is, else fp32.
inline at::Tensor kernel_operand(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? x.contiguous() : wide(x);
}
/// Such operands and results for a kernel of the CPU; none for an undefined tensor.
inline kernels::Values values(const at::Tensor& x) {
  if (!x.defined() || x.scalar_type() == at::kFloat) return data(x);
  return kernels::Values(static_cast<const std::uint16_t*>(x.const_data_ptr()));
}
inline kernels::Results results(const at::Tensor& y) {
  if (!y.defined() || y.scalar_type() == at::kFloat) return mutable_data(y);
  return kernels::Results(static_cast<std::uint16_t*>(y.mutable_data_ptr()));
}
/// Room for a result beside such an operand, of its type.
inline at::Tensor new_beside(const at::Tensor& operand, c10::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), operand.scalar_type(), {},
                                             operand.device(), {}, {});
}
inline at::Tensor new_floats_beside(const at::Tensor& operand, c10::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, {},
                                             operand.device(), {}, {});
}
/// fp32 or bf16
inline DType kernel_type(const at::Tensor& operand) { return from_scalar_type(operand.scalar_type()); }

/// Whether x goes to a kernel: the CPU's, or its device's, which has `entry`.
template <class Entry>
bool goes_to_kernel(const at::Tensor& x, const Entry& entry) {
  if (x.is_cpu()) return has_kernel(x);
  return entry(device_kernels(x)) != nullptr && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

}  // namespace bora::core::autograd
