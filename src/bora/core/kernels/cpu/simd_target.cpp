// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/simd_target.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {
const char* target_name() { return hwy::TargetName(HWY_TARGET); }
}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(target_name);
const char* simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

namespace {
bool capped = false;
}

bool cap_simd_target(std::string_view name) {
  // Better targets have lower bits.
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2}) {
    if (name != hwy::TargetName(target)) continue;
    hwy::DisableTargets(target - 1);
    hwy::GetChosenTarget().DeInit();
    capped = true;
    return true;
  }
  return false;
}

bool simd_target_is_capped() { return capped; }
}  // namespace bora::kernels
#endif
