// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

// Included before Highway: the instruction sets every kernel is compiled for. On x86 the baseline, AVX2 with
// FMA and AVX-512; what lies between gains nothing and costs compile time. Vectors of unknown size cannot
// stand in arrays.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
