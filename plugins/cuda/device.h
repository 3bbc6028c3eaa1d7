// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cuda {

/// False where this build holds no kernels for the architecture of that GPU; true also where CUDA tells something else, which
/// whoever uses the GPU will be told again. The thread's own GPU stays.
bool has_kernels(int gpu);

}  // namespace bora::cuda
