// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/dropout.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/autograd/dropout.h"

namespace bora::core::plain {

/// The mask is drawn on the host and copied to where x is.
at::Tensor dropout(const at::Tensor& x, double p, Key key, const BlockOf& block);

}  // namespace bora::core::plain
