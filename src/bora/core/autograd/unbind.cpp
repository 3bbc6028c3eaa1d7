// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/unbind.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/stack_ops.h>
#include <ATen/ops/unbind_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/pieces.h"
#include "bora/core/autograd/side_by_side.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Unbind : torch::autograd::Function<Unbind> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, std::int64_t dim) {
    const at::AutoDispatchBelowADInplaceOrView no_views;  // results of their own, though of one memory
    ctx->saved_data["dim"] = dim;
    return at::_ops::unbind_int::call(x, dim);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto dim = ctx->saved_data["dim"].toInt();
    variable_list pieces;
    for (const auto& g : grads) pieces.push_back(g.unsqueeze(dim));
    const Tensor whole = at::GradMode::is_enabled() ? Tensor() : joined_view(pieces, dim);
    return {whole.defined() ? whole : at::_ops::stack::call(grads, dim), Tensor()};
  }
};

}  // namespace

std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim) {
  return recorded(x) && x.size(dim) > 0 ? Unbind::apply(x, dim) : at::_ops::unbind_int::call(x, dim);
}

}  // namespace bora::core::autograd
