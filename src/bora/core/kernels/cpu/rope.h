// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/values.h"
#include "bora/core/rope_shape.h"

namespace bora::kernels {

void rope(const RopeShape& shape, Values x, const float* cos, const float* sin, Results y, bool inverse);

}  // namespace bora::kernels
