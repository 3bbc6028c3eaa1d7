// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: elements of another type, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

namespace bora::core::autograd {

/// Another type of elements, rounded to nearest even; the same layout.
at::Tensor cast(const at::Tensor& x, at::ScalarType type);

/// Where a parameter's kept copy in bf16 lies (core/cast_once.h), and its number in largest_of_copies(); null: nowhere.
struct KeptCopy {
  void* copy = nullptr;
  float* largest = nullptr;
};
/// Of each, for who writes copies with new values and then gives their numbers, which are 0 from here on.
std::vector<KeptCopy> kept_copies_to_write(std::span<const at::Tensor> parameters);
/// Of an x that is all elements of kept copies, as one matrix or one behind the other: the largest |element| of each copy [k],
/// as it was given when they were written. Undefined: not known, as outside of fp8.
at::Tensor largest_of_copies(const at::Tensor& x);
/// Makes those bf16 copies of this thread's CastOnceScope that are still to be made, on a device that has a kernel for it.
void make_copies();
/// Where the copies of this thread's CastOnceScope lie on a device, with their numbers; none without a scope. Nothing if one of them is still to
/// be made.
std::optional<std::vector<const void*>> places_of_copies();
/// Of an array of a device whose values libtorch has not seen change: with its kept copy, or without.
void has_changed(const at::Tensor& x, bool with_its_copy);

/// bf16 or f16.
inline bool is_low_precision(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
}

// Every op has one branch: our kernels, or libtorch's own differentiable ops (core/plain).

/// libtorch's ops alone: x is on another device than the CPU, or a PlainOpsScope lives.
bool is_plain(const at::Tensor& x);
/// On another device than the CPU, of a type that ops of ours compute there (fp32, bf16, f16), outside of every
/// PlainOpsScope: they record themselves, of libtorch's ops or the device's kernels.
bool on_a_device(const at::Tensor& x);
/// Runs on the CPU with fp32 kernels: fp32, or bf16 and fp16 by widening. Never where is_plain.
bool has_kernel(const at::Tensor& x);

}  // namespace bora::core::autograd
