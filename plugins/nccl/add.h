// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cuda_runtime.h>

#include <cstddef>

namespace bora::nccl {

/// into[i] = into[i] + from[i] for n floats in device memory, rounded to nearest as on CPUs. Returns at once.
cudaError_t add_into(std::size_t n, float* into, const float* from, cudaStream_t stream);

}  // namespace bora::nccl
