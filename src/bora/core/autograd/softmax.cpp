// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/softmax.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/pieces.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Detached, contiguous and [rows, last dimension].
Tensor as_rows(const Tensor& x) { return x.detach().contiguous().view({-1, x.size(-1)}); }

Tensor softmax_rows(const Tensor& x, bool log) {
  Tensor y = new_like(x);
  if (x.numel() == 0) return y;
  const Tensor in = as_rows(x), out = as_rows(y);
  in_pieces(in.size(0), in.size(1), [&](std::int64_t first, std::int64_t count) {
    Tensor piece = out.narrow(0, first, count);
    const auto op = log ? at::_ops::_log_softmax_out::call : at::_ops::_softmax_out::call;
    op(in.narrow(0, first, count), 1, false, piece);
  });
  return y;
}

Tensor softmax_rows_backward(const Tensor& grad, const Tensor& y, bool log) {
  Tensor dx = new_like(y);
  if (y.numel() == 0) return dx;
  const Tensor g = as_rows(grad), out = as_rows(y), in = as_rows(dx);
  in_pieces(out.size(0), out.size(1), [&](std::int64_t first, std::int64_t count) {
    Tensor piece = in.narrow(0, first, count);
    const auto op =
        log ? at::_ops::_log_softmax_backward_data_out::call : at::_ops::_softmax_backward_data_out::call;
    op(g.narrow(0, first, count), out.narrow(0, first, count), 1, y.scalar_type(), piece);
  });
  return dx;
}

struct Softmax : Function<Softmax> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, bool log) {
    Tensor y = softmax_rows(x, log);
    ctx->save_for_backward({y});
    ctx->saved_data["log"] = log;
    return y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor y = ctx->get_saved_variables()[0];
    return {softmax_rows_backward(grads[0], y, ctx->saved_data["log"].toBool()), Tensor()};
  }
};

}  // namespace

Tensor softmax_last(const Tensor& x, bool log) {
  if (autograd::is_plain(x)) return log ? x.log_softmax(-1) : x.softmax(-1);
  return recorded(x) ? Softmax::apply(x, log) : softmax_rows(x, log);
}

}  // namespace bora::core
