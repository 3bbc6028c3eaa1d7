// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/joint_pieces.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/sum_ops.h>
#include <c10/core/GradMode.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/side_by_side.h"

namespace bora::core::autograd {

using at::Tensor;

JointPieces::JointPieces(at::TensorList differentiated, std::int64_t count) : count_(count) {
  for (const auto& x : differentiated) {
    sizes_.push_back(x.size(0));
    types_.push_back(static_cast<std::int64_t>(x.scalar_type()));
  }
}

JointPieces::JointPieces(const Context& ctx)
    : count_(ctx.saved_data.at("count").toInt()),
      sizes_(ctx.saved_data.at("sizes").toIntVector()),
      types_(ctx.saved_data.at("types").toIntVector()) {}

void JointPieces::save(Context& ctx) const {
  ctx.saved_data["count"] = count_;
  ctx.saved_data["sizes"] = sizes_;
  ctx.saved_data["types"] = types_;
}

JointPieces::List JointPieces::results(const Tensor& product) const {
  const at::AutoDispatchBelowADInplaceOrView no_views;  // results of their own, though of one memory
  List out;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); first += sizes_[i++])
    out.push_back(product.narrow(1, first, sizes_[i]));
  return out;
}

bool JointPieces::any_weight(Context& ctx) const {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
    if (ctx.needs_input_grad(i + 1)) return true;
  return false;
}

Tensor joined_gradient(const torch::autograd::variable_list& pieces) {
  Tensor whole = joined_view(pieces, 1);
  return whole.defined() ? whole : at::_ops::cat::call(at::ITensorListRef(pieces), 1);
}

namespace {

bool has_bias_kernel(const Tensor& x) {
  return x.numel() > 0 && !x.is_cpu() && !at::GradMode::is_enabled() &&
         goes_to_kernel(x, [](const DeviceKernels& k) { return k.bias_gradient; });
}

// Of a product's columns there may be some alone.
Tensor as_rows(const Tensor& x) {
  const bool lie_whole = x.dim() == 2 && x.stride(1) == 1 && x.stride(0) >= x.size(1);
  if (lie_whole && x.scalar_type() != at::kHalf) return x;
  return kernel_operand(x).reshape({-1, x.size(-1)});
}

Tensor sum_of_rows(const Tensor& x) {
  Tensor out = new_floats_beside(x, {x.size(1)});
  recorded_kernels(x).bias_gradient(kernel_type(x), x.size(0), x.size(1), x.const_data_ptr(), x.stride(0),
                                    mutable_data(out), stream_of(x));
  return out;
}

}  // namespace

Tensor over_rows(at::ScalarType type, const Tensor& gradient) {
  if (has_bias_kernel(gradient)) return cast(sum_of_rows(as_rows(gradient)), type);
  std::vector<std::int64_t> over;
  for (std::int64_t i = 0; i + 1 < gradient.dim(); ++i) over.push_back(i);
  return at::_ops::sum_dim_IntList::call(gradient, over, false, type);
}

}  // namespace bora::core::autograd
