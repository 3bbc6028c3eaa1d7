// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the head and its loss, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "bora/core/autograd/factor.h"
#include "bora/core/mapping.h"

namespace bora::core::autograd {

struct CrossEntropyRule {
  double logit_scale = 1, soft_cap = 0;  ///< as HeadOptions
  double z_loss = 0;
  std::int64_t chunk = 1024;
  std::int64_t vocab = 0;          ///< of all workers
  std::int64_t first = 0;          ///< where this worker's rows of the head begin
  int lanes = 1;                   ///< equal blocks of this worker's rows, whose sums are added in pairs
  Collectives* workers = nullptr;  ///< who hold the rows together; null: all are here
};
/// hidden [positions, embed], head [vocab, embed], bias [vocab] or none, targets i32, weights f32: sum
/// of weighted losses. The gradient of `hidden` is this worker's part of a sum.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const Factor& head,
                                const std::optional<Factor>& bias, const at::Tensor& targets,
                                const at::Tensor& weights, const CrossEntropyRule& rule);

/// InvalidArgument for a target beyond the vocabulary, or below 0 where `weights` has more than 0. Null:
/// there may be such anywhere.
void check_targets(std::string_view op, const at::Tensor& targets, const at::Tensor* weights,
                   std::int64_t vocab);

}  // namespace bora::core::autograd
