// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace bora::core::autograd {

/// Every element along `dim`, without it: views of x. Gradients that lie as they do are taken as one array where they are,
/// others are stacked.
std::vector<at::Tensor> unbind(const at::Tensor& x, std::int64_t dim);

}  // namespace bora::core::autograd
