// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "model_config.h"

namespace bora::app {

/// What a run will hold in memory, in bytes, from shapes alone.
struct SizeEstimate {
  std::int64_t parameters = 0;
  double parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0, activation_bytes = 0;
  double total() const { return parameter_bytes + gradient_bytes + optimizer_bytes + activation_bytes; }
};

/// fp32 parameters and AdamW; gradients of log2(lanes) + 1 lanes; activations of one lane, without
/// recomputation.
SizeEstimate estimate_sizes(const ModelConfig& config, std::int64_t vocab, std::int64_t batch,
                            std::int64_t lanes);

}  // namespace bora::app
