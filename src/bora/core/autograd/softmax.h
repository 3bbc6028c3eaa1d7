// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: softmax, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core {

/// Softmax, or its logarithm, over the last dimension.
at::Tensor softmax_last(const at::Tensor& x, bool log);

}  // namespace bora::core
