// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::kernels {

/// What stands between a product of hidden states and head and the logits: x -> cap(scale·x + bias[column])
/// with cap(x) = soft_cap·tanh(x / soft_cap).
struct HeadMap {
  float scale = 1;
  float soft_cap = 0;           ///< 0: none
  const float* bias = nullptr;  ///< [columns]; null: none
  bool identity() const { return scale == 1 && soft_cap == 0 && bias == nullptr; }
};

}  // namespace bora::kernels
