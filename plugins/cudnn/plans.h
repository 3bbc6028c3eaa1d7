// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Plans of attention for the devices of this process, each made once.
#pragma once
#include <cstdint>

#include "bora/core/attention_library.h"

namespace bora::cudnn {

/// More bytes for one call are worse than another kernel: a graph of documents takes some for each head of a group.
inline constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

// As the entries of core::AttentionLibrary.
const core::ReadyAttention& ready(const core::AttentionPlan& plan, std::int8_t device);
void forward(const core::ReadyAttention& by, std::int8_t device, core::AttentionArrays arrays, void* stream);
void backward(const core::ReadyAttention& by, std::int8_t device, core::AttentionArrays arrays, void* stream);

}  // namespace bora::cudnn
