// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/matmul.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/sum_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_matmul.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/norm.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The last two dimensions of a tensor as a matrix the kernel can read: one of them must have stride 1. A matrix of
// bf16 is read as it lies.
struct View {
  Tensor storage;
  kernels::MatrixRef ref;
  std::int64_t batch_stride;
};

View as_matrix(Tensor x) {
  auto d = x.dim();
  const bool is_bf16 = x.scalar_type() == at::kBFloat16, as_it_lies = is_bf16 && d == 2;
  if (is_low_precision(x) && !as_it_lies) x = cast(x, at::kFloat);
  auto rows = x.size(d - 2), columns = x.size(d - 1);
  auto row = x.stride(d - 2), column = x.stride(d - 1);
  bool plain = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  bool transposed = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  if (!plain && !transposed) {
    x = x.contiguous();
    plain = true;
  }
  auto stride = plain ? x.stride(d - 2) : x.stride(d - 1);
  stride = std::max(stride, plain ? columns : rows);
  auto batch = d == 3 ? x.stride(0) : 0;
  if (as_it_lies) {
    const auto halves = kernels::matrix_of_halves(x.const_data_ptr(), stride, !plain);
    return {std::move(x), halves, batch};
  }
  const float* data = x.const_data_ptr<float>();
  return {std::move(x), {data, stride, !plain, is_bf16}, batch};
}

Tensor empty(const std::vector<std::int64_t>& sizes, const Tensor& like) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, std::nullopt,
                                             like.device(), std::nullopt, std::nullopt);
}

using Maybe = std::optional<Tensor>;

// In another type than the factors', if it is one: rounded once.
Tensor product(at::ScalarType type, const Tensor& a, const Tensor& b, const Maybe& bias = {}) {
  auto d = a.dim();
  auto m = a.size(d - 2), k = a.size(d - 1), n = b.size(d - 1);
  Tensor c = d == 3 ? empty({a.size(0), m, n}, a) : empty({m, n}, a);
  auto va = as_matrix(a), vb = as_matrix(b);
  auto* out = c.mutable_data_ptr<float>();
  if (d == 3) {
    kernels::batched_matmul(a.size(0), m, n, k, va.ref, va.batch_stride, vb.ref, vb.batch_stride, out, n,
                            m * n);
  } else {
    kernels::matmul(m, n, k, va.ref, vb.ref, out, n);
  }
  if (bias) {
    auto wide = cast(*bias, at::kFloat).contiguous();
    kernels::add_bias(c.numel() / n, n, wide.const_data_ptr<float>(), out);
  }
  return cast(c, type);
}

// Of libtorch's ops, which it differentiates itself.
Tensor plain_product(const Tensor& a, const Tensor& b, const Maybe& bias) {
  auto c = a.dim() == 3 ? at::_ops::bmm::call(a, b) : at::_ops::mm::call(a, b);
  return bias ? at::_ops::add_Tensor::call(c, *bias, 1) : c;
}

// The gradient left · right of an operand, as the operand lies.
Tensor operand_gradient(at::ScalarType type, const Tensor& operand, const Tensor& left, const Tensor& right) {
  auto multiply = [&](const Tensor& x, const Tensor& y) {
    return at::GradMode::is_enabled() ? cast(matmul(x, y), type) : product(type, x, y);
  };
  if (lies_by_columns(operand))
    return multiply(right.transpose(-1, -2), left.transpose(-1, -2)).transpose(-1, -2);
  return multiply(left, right);
}

Tensor bias_gradient(at::ScalarType type, const Tensor& grad) {
  auto n = grad.size(-1);
  if (!has_kernel(grad) || at::GradMode::is_enabled()) {
    std::vector<std::int64_t> over;
    for (std::int64_t i = 0; i + 1 < grad.dim(); ++i) over.push_back(i);
    return at::_ops::sum_dim_IntList::call(grad, over, false, type);
  }
  const auto operand = kernel_operand(grad);
  auto out = empty({n}, grad);
  kernels::column_sums(operand.numel() / n, n, values(operand), out.mutable_data_ptr<float>());
  return cast(out, type);
}

// b and bias are what is differentiated, the others what is computed with.
struct Matmul : torch::autograd::Function<Matmul> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b, const Maybe& bias,
                        const Tensor& b_values, const Maybe& bias_values) {
    ctx->save_for_backward({a, b, b_values});
    if (bias) ctx->saved_data["bias_type"] = static_cast<std::int64_t>(bias->scalar_type());
    return product(a.scalar_type(), a, b_values, bias_values);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    const auto &a = saved[0], &b = saved[1], &values = saved[2], &g = grads[0];
    Tensor da, db, dbias;
    if (ctx->needs_input_grad(1)) db = operand_gradient(b.scalar_type(), b, a.transpose(-1, -2), g);
    if (ctx->needs_input_grad(0)) {
      const Tensor factor = at::GradMode::is_enabled() ? cast(b, values.scalar_type()) : values;
      da = operand_gradient(a.scalar_type(), a, g, factor.transpose(-1, -2));
    }
    const auto bias = ctx->saved_data.find("bias_type");
    if (bias != ctx->saved_data.end() && ctx->needs_input_grad(2))
      dbias = bias_gradient(static_cast<at::ScalarType>(bias->second.toInt()), g);
    return {da, db, dbias, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor matmul(const Tensor& a, const Factor& b, const std::optional<Factor>& bias) {
  if (on_a_device(a)) return device_matmul(a, b, bias);
  const auto values = bias ? Maybe(bias->values) : std::nullopt;
  if (!has_kernel(a)) return plain_product(a, b.values, values);
  const auto differentiated_bias = bias ? Maybe(differentiated(*bias)) : std::nullopt;
  const Tensor& weight = differentiated(b);
  const bool recorded =
      at::GradMode::is_enabled() && (a.requires_grad() || weight.requires_grad() ||
                                     (differentiated_bias && differentiated_bias->requires_grad()));
  if (!recorded) return product(a.scalar_type(), a, b.values, values);
  return Matmul::apply(a, weight, differentiated_bias, b.values.detach(),
                       values ? Maybe(values->detach()) : std::nullopt);
}

}  // namespace bora::core::autograd
