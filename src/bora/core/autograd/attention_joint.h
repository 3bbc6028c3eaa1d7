// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention over all keys, joined from attention over blocks of them.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core::autograd {

/// Attention over some of the keys, and the natural logs of its sums of exponentials: out [..., query, head, dim], lse
/// f32 [..., head, query]. Of a query that sees none of them out is 0 and lse +inf (FlashAttention) or -inf (cuDNN).
struct AttentionPart {
  at::Tensor out, lse;
};

/// What queries see of all keys, from what they see of blocks of these. Two parts with results a, b and logs of sums x, y
/// make up a + s(b - a) with s = sigmoid(y - x), and log(exp x + exp y) (Liu, Zaharia and Abbeel 2023, arXiv:2310.01889;
/// Dao 2023, arXiv:2307.08691, section 3.1). Joined in 32 bits, in the order of add(); of one block, its own bits.
class AttentionJoint {
 public:
  /// Of the queries [0, part's); the first part has all. What it holds may be written over.
  void add(AttentionPart part);
  /// In the type of the parts, rounded once. `of_none`: the log where a query has seen nothing, +inf or -inf.
  AttentionPart joined(double of_none);

 private:
  AttentionPart all_;
  at::ScalarType type_ = at::kFloat;
};

/// A sum in 32 bits of what comes in 16, where more than one comes; the first has all positions.
class GradientSum {
 public:
  /// To the positions [0, more's) of axis 1.
  void add(at::Tensor more);
  at::Tensor as(at::ScalarType type) const;

 private:
  at::Tensor sum_;
};

}  // namespace bora::core::autograd
