// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::cudnn {

inline constexpr int kMostRows = 9;

/// Elements of a position of several arrays.
struct Multiples {
  std::int64_t of[kMostRows];
  int count;
};

/// lengths [n]: of n documents, from where they begin (starts [n + 1]); offsets [count, n + 1]: starts times each
/// multiple.
void write_offsets(std::int64_t n, const std::int32_t* starts, const Multiples& multiples,
                   std::int32_t* lengths, std::int32_t* offsets, void* stream);

}  // namespace bora::cudnn
