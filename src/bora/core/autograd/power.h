// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: powers, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core {

/// base^exponent, of the same sizes.
at::Tensor power(const at::Tensor& base, const at::Tensor& exponent);

}  // namespace bora::core
