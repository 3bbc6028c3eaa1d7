// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/joint_pieces.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/sum_ops.h>

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

Tensor over_rows(at::ScalarType type, const Tensor& gradient) {
  std::vector<std::int64_t> over;
  for (std::int64_t i = 0; i + 1 < gradient.dim(); ++i) over.push_back(i);
  return at::_ops::sum_dim_IntList::call(gradient, over, false, type);
}

}  // namespace bora::core::autograd
