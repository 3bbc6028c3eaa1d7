// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the pass over a head that losses, log-probabilities and scores share.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "bora/core/autograd/cross_entropy.h"
#include "bora/core/kernels/cpu/cross_entropy.h"

namespace bora::core::autograd {

/// One pass over chunks of positions: logits, losses, and at once the gradients of a loss whose own gradient
/// is 1.
struct HeadPass {
  at::Tensor hidden, head, bias, targets, weights;  ///< widened by run(); bias may be undefined
  CrossEntropyRule rule;
  bool gradient;
  /// Called for each chunk of rows from `first` on, with lse - logits[target] of each, lse = log sum
  /// exp(logits), and the logits: only where they are all here and no gradient is wanted.
  using Look = std::function<void(std::int64_t first, std::int64_t rows, const float* losses,
                                  const float* lse, const float* logits)>;
  Look look = {};
  at::Tensor dhidden = {}, dhead = {}, dbias = {};  ///< dhidden once for each lane
  double loss = 0;

  void run();

 private:
  kernels::HeadMap map_of(std::int64_t column) const;
  void across_workers(std::int64_t rows, std::int64_t columns, float* z, std::int64_t stride,
                      const std::int32_t* chosen, const float* w, float* losses, float* lse) const;
  void add_losses(std::int64_t rows, const float* w, const float* losses, const float* lse);
};

}  // namespace bora::core::autograd
