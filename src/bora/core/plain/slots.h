// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/slots.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::plain {

at::Tensor dispatch(const at::Tensor& x, const at::Tensor& place);
at::Tensor combine(const at::Tensor& y, const at::Tensor& weights, const at::Tensor& place);

}  // namespace bora::core::plain
