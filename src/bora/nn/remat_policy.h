// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/config.h"

namespace bora::nn {

/// Which blocks forget their intermediate values and compute them again in the backward pass. The values and
/// gradients have the same bits under every policy.
struct RematPolicy {
  /// offload: as full, and the blocks' inputs rest in pinned memory of the host (core/checkpoint.h).
  enum class Kind { none, full, every, nested, offload };
  Kind kind = Kind::none;
  std::int64_t every = 1;  ///< Kind::every: of each `every` blocks in a row, the first is recomputed

  /// Levanter's values of gradient_checkpointing: true, false, "full", "nested", "offload", "recompute",
  /// "save_all", or a number n (every n-th block).
  void bind(Binder& b, std::string_view name);
  static RematPolicy parse(std::string_view text);
  std::string text() const;
};

/// Length of the outer groups of nested recomputation: the divisor of `layers` closest to its square root.
std::int64_t nested_group(std::int64_t layers);

}  // namespace bora::nn
