// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/device_kernels.h"

namespace bora::cuda {

/// By the cuBLASLt that libtorch has loaded; none without it.
core::DeviceKernels::ActivatedProduct activated_products();

}  // namespace bora::cuda
