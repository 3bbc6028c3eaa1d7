// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/device_kernels.h"

namespace bora::cuda {

/// The kernels of this folder as core takes them.
core::DeviceKernels table();

}  // namespace bora::cuda
