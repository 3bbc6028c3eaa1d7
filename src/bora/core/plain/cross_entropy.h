// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/cross_entropy.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "bora/core/autograd/cross_entropy.h"

namespace bora::core::plain {

/// Forms all logits [positions, vocab]. The whole vocabulary must be here. Targets are checked on the CPU.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& head,
                                const std::optional<at::Tensor>& bias, const at::Tensor& targets,
                                const at::Tensor& weights, const autograd::CrossEntropyRule& rule);

}  // namespace bora::core::plain
