// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::core {

/// While it lives, this thread's operations are composed of libtorch's own differentiable ops, as on a device
/// for which Bora has no kernels. They are slower and take more memory (attention forms its scores), agree
/// with the kernels within rounding, and may depend on the number of threads. The kernels are tested against
/// them, and they have derivatives of any order (hessian.h).
///
/// What was recorded in the scope goes back the same way, after its end too: the backward pass and what it
/// computes again.
class PlainOpsScope {
 public:
  explicit PlainOpsScope(bool plain = true);  ///< false: with kernels, inside of another scope
  ~PlainOpsScope();
  PlainOpsScope(const PlainOpsScope&) = delete;
  PlainOpsScope& operator=(const PlainOpsScope&) = delete;

 private:
  bool before_;
};

/// Whether this thread is in such a scope.
bool plain_ops();

}  // namespace bora::core
