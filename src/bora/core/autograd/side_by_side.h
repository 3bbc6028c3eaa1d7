// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: tensors that are pieces of one.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::autograd {

/// The tensor of which `pieces` are all, in order along `dim`, where they lie in memory as its pieces do; else an
/// undefined one. Not recorded.
at::Tensor joined_view(at::TensorList pieces, std::int64_t dim);

}  // namespace bora::core::autograd
