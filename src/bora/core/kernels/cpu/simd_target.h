// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

namespace bora::kernels {

/// Name of the SIMD target that dispatch chose: "AVX2", "AVX3_ZEN4", ... Bits depend on it; it goes into the
/// run record.
const char* simd_target();
/// Uses nothing better than `name`: AVX3 (AVX-512 without AMX) or AVX2. Call before any kernel. False for
/// another name.
bool cap_simd_target(std::string_view name);
/// Whether it was called: no matrix units then.
bool simd_target_is_capped();

}  // namespace bora::kernels
