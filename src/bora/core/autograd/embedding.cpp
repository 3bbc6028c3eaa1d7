// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/embedding.h"

#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/sort_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/pieces.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The CPU has none: libtorch's op is in order there.
bool has_row_kernel(const Tensor& x, const Tensor& rows, std::int64_t height) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return !x.is_cpu() && rows.numel() <= kMost && height <= kMost &&
         goes_to_kernel(x, [](const DeviceKernels& k) { return k.embedding.backward; });
}

Tensor copied_rows(const Tensor& table, const Tensor& rows) {
  return at::_ops::embedding::call(table, rows, -1, false, false);
}

// By the device's kernel: in fp32, rounded once.
Tensor sorted_row_sums(const Tensor& x, const Tensor& rows, std::int64_t height) {
  const auto [ids, order] = at::_ops::sort_stable::call(rows.to(at::kInt), /*stable=*/true, 0, false);
  const Tensor operand = kernel_operand(x), places = order.to(at::kInt);
  const auto count = operand.size(0), width = operand.size(1);
  const Tensor sums = new_floats_beside(x, {height, width}).zero_();
  const auto& entry = recorded_kernels(x).embedding;
  const Tensor room = entry.room == nullptr ? Tensor() : new_floats_beside(x, {entry.room(count, width)});
  entry.backward(kernel_type(operand), count, width, height, ids.const_data_ptr<std::int32_t>(),
                 places.const_data_ptr<std::int32_t>(), operand.const_data_ptr(), mutable_data(sums),
                 mutable_data(room), stream_of(x));
  return cast(sums, x.scalar_type());
}

struct RowSums : torch::autograd::Function<RowSums> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& rows, std::int64_t height) {
    ctx->save_for_backward({rows});
    return sorted_row_sums(x, rows, height);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {copied_rows(grads[0], ctx->get_saved_variables()[0]), Tensor(), Tensor()};
  }
};

struct Embedding : torch::autograd::Function<Embedding> {
  static Tensor forward(AutogradContext* ctx, const Tensor& table, const Tensor& rows) {
    ctx->save_for_backward({rows});
    ctx->saved_data["height"] = table.size(0);
    return copied_rows(table, rows);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto height = ctx->saved_data["height"].toInt();
    return {sorted_row_sums(grads[0], ctx->get_saved_variables()[0], height), Tensor()};
  }
};

}  // namespace

// A second derivative comes from plain ops alone.
Tensor embedding(const Tensor& table, const Tensor& rows) {
  const bool kernel = recorded(table) && has_row_kernel(table, rows, table.size(0));
  return kernel ? Embedding::apply(table, rows) : copied_rows(table, rows);
}

// libtorch's op gives each row to one thread, which adds in order of places.
Tensor row_sums(const Tensor& x, const Tensor& rows, std::int64_t height) {
  if (!has_row_kernel(x, rows, height))
    return at::_ops::embedding_dense_backward::call(x, rows, height, -1, false);
  return recorded(x) ? RowSums::apply(x, rows, height) : sorted_row_sums(x, rows, height);
}

}  // namespace bora::core::autograd
