// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/sums.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/pieces.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor sum_chunks(const Tensor& flat) {
  const std::int64_t n = flat.numel(), whole = n / kPiece;
  if (n <= kPiece) return flat.sum();
  Tensor sums = flat.narrow(0, 0, whole * kPiece).view({whole, kPiece}).sum(1);
  if (whole * kPiece < n) {
    const Tensor rest = flat.narrow(0, whole * kPiece, n - whole * kPiece).sum().view({1});
    sums = at::_ops::cat::call(at::ITensorListRef({sums, rest}), 0);
  }
  return sum_chunks(sums);
}

Tensor sum_all(const Tensor& x) {
  const bool narrow = x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
  const Tensor flat = narrow ? x.to(at::kFloat).reshape({-1}) : x.reshape({-1});
  const Tensor total = sum_chunks(flat);
  return narrow ? total.to(x.scalar_type()) : total;
}

struct SumAll : Function<SumAll> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->saved_data["sizes"] = x.sizes().vec();
    return sum_all(x);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0].expand(ctx->saved_data["sizes"].toIntVector())};
  }
};

struct ExpandOne : Function<ExpandOne> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, at::IntArrayRef sizes) {
    ctx->saved_data["sizes"] = x.sizes().vec();
    return x.detach().reshape({}).expand(sizes);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {fixed_sum(grads[0]).view(ctx->saved_data["sizes"].toIntVector()), Tensor()};
  }
};

}  // namespace

Tensor fixed_sum(const Tensor& x) {
  if (autograd::is_plain(x)) return x.sum();
  return recorded(x) ? SumAll::apply(x) : sum_all(x);
}

Tensor expand_one(const Tensor& x, at::IntArrayRef sizes) {
  return recorded(x) && !autograd::is_plain(x) ? ExpandOne::apply(x, sizes) : x.reshape({}).expand(sizes);
}

}  // namespace bora::core
