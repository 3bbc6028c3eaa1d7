// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: tensors for the kernels of the CPU, which take fp32, or of a device, which take bf16 too.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include "bora/core/autograd/floats.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {

/// x as its kernel takes it: contiguous; bf16 on a device, else fp32.
inline at::Tensor kernel_operand(const at::Tensor& x) {
  return !x.is_cpu() && x.scalar_type() == at::kBFloat16 ? x.contiguous() : wide(x);
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
