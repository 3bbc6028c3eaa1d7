// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the gradient with which a backward pass begins.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::autograd {

/// The loss's gradient in itself. While it lives, this thread knows that number to be 1 without waiting for its device: who
/// would multiply by it need not.
class RootGradient {
 public:
  explicit RootGradient(const at::Tensor& one);
  ~RootGradient();
  RootGradient(const RootGradient&) = delete;
  RootGradient& operator=(const RootGradient&) = delete;

  /// Whether a gradient is that very number, or a view of it.
  static bool is(const at::Tensor& gradient);

 private:
  at::Tensor one_;
  const at::Tensor* before_;
};

}  // namespace bora::core::autograd
