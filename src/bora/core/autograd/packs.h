// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: heads as kernels of other libraries take them, which read 16 bytes at once.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bora::core::autograd {

/// Elements of 16 bits in 16 bytes.
inline constexpr std::int64_t kPack = 8;

/// Whether every row begins at 16 bytes, and has its elements one behind another.
inline bool in_packs(const at::Tensor& x) {
  const auto last = x.dim() - 1;
  if (x.stride(last) != 1 || reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 != 0) return false;
  for (std::int64_t i = 0; i < last; ++i)
    if (x.size(i) > 1 && x.stride(i) % kPack != 0) return false;
  return true;
}

}  // namespace bora::core::autograd
