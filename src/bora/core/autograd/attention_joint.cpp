// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/attention_joint.h"

#include <limits>
#include <utility>

#include "bora/core/autograd/cast.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [..., head, query] to [..., query, head, 1]
Tensor beside_results(const Tensor& lse) { return lse.transpose(-2, -1).unsqueeze(-1); }
Tensor first_queries(const Tensor& x, std::int64_t dim, const Tensor& like) {
  return x.size(dim) == like.size(dim) ? x : x.narrow(dim, 0, like.size(dim));
}

}  // namespace

void AttentionJoint::add(AttentionPart part) {
  part.lse = part.lse.masked_fill(part.lse.eq(kInfinity), -kInfinity);
  if (!all_.out.defined()) {
    type_ = part.out.scalar_type();
    all_ = std::move(part);
    return;
  }
  all_.out = cast(all_.out, at::kFloat);
  const Tensor lse = first_queries(all_.lse, -1, part.lse), out = first_queries(all_.out, -3, part.out);
  // Where neither has seen anything the difference is that of two infinities.
  const Tensor share = part.lse.sub(lse).sigmoid_().masked_fill_(part.lse.eq(-kInfinity), 0);
  out.lerp_(cast(part.out, at::kFloat), beside_results(share));
  lse.copy_(lse.logaddexp(part.lse));
}

AttentionPart AttentionJoint::joined(double of_none) {
  all_.out = cast(all_.out, type_);
  if (of_none > 0) all_.lse.masked_fill_(all_.lse.eq(-kInfinity), of_none);
  return std::move(all_);
}

void GradientSum::add(Tensor more) {
  if (!sum_.defined()) {
    sum_ = std::move(more);
    return;
  }
  sum_ = cast(sum_, at::kFloat);
  sum_.narrow(1, 0, more.size(1)).add_(more);
}

Tensor GradientSum::as(at::ScalarType type) const { return cast(sum_, type); }

}  // namespace bora::core::autograd
