// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the largest |element| of an array, which the kernel that makes the array gives with it, for products in
// fp8 (core/fp8.h). The one place where it is kept.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::autograd {

/// Where the kernel that is to make y puts it (DeviceKernels: 0 before), y being all of its memory in bf16 on a device; it is
/// known from then on. Null where nobody will ask: outside of a RecordingScope or of an Fp8Scope.
float* largest_beside(const at::Tensor& y);

/// That number [1] for an x of the same elements in the same places, though seen in another shape. Undefined: not known. An
/// op of libtorch that writes to the array makes it unknown; a kernel that writes to an array which it has not made
/// would have to say so here, and there is none.
at::Tensor known_largest(const at::Tensor& x);

/// A number [1], which is 0: within a RecordingScope one of many that one launch has cleared.
at::Tensor zero_number(const at::Tensor& like);

/// The time of one pass, after which all is forgotten: what is noted in a graph clears its own numbers, and nothing of it is
/// used outside (core/step_graph.h).
class LargestScope {
 public:
  LargestScope();
  ~LargestScope();
  LargestScope(const LargestScope&) = delete;
  LargestScope& operator=(const LargestScope&) = delete;
};

}  // namespace bora::core::autograd
