// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what a head says of targets, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "bora/core/autograd/cross_entropy.h"

namespace bora::core::autograd {

/// log p of each target, 0 for one below 0; [positions].
at::Tensor linear_log_prob(const at::Tensor& hidden, const Factor& head, const std::optional<Factor>& bias,
                           const at::Tensor& targets, const CrossEntropyRule& rule, std::string_view op);

struct Scores {
  at::Tensor log_prob, rank;         ///< [positions]
  at::Tensor top_ids, top_log_prob;  ///< [positions, top]
};
/// Without gradients. The head is all here where ranks or tokens are asked for.
Scores linear_scores(const at::Tensor& hidden, const at::Tensor& head, const std::optional<at::Tensor>& bias,
                     const at::Tensor& targets, const CrossEntropyRule& rule, bool rank, std::int64_t top);

}  // namespace bora::core::autograd
