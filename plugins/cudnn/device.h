// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cudnn {

/// This thread's calls of CUDA go to `device` from here on; `before` gets where they went, unless it is null. Returns what
/// CUDA says: 0 is well.
int set_device(int device, int* before);

}  // namespace bora::cudnn
