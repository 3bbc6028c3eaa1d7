// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/convert.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/empty_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/recording_scope.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor empty_beside(const Tensor& x, at::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), x.scalar_type(), {}, x.device(),
                                             {}, {});
}

Tensor own_block(const Tensor& x, std::int64_t dim, const Collectives& workers) {
  const std::int64_t part = x.size(dim) / workers.size();
  return x.narrow(dim, part * workers.rank(), part).contiguous();
}

Tensor gathered(const Tensor& x, std::int64_t dim, Collectives& workers) {
  const Tensor mine = x.detach().movedim(dim, 0).contiguous();
  auto sizes = mine.sizes().vec();
  sizes[0] *= workers.size();
  const Tensor out = empty_beside(x, sizes);
  Array all = wrap(out);
  workers.all_gather(wrap(mine), all);
  return out.movedim(0, dim);
}

Tensor sum_of_blocks(const Tensor& x, std::int64_t dim, Collectives& workers) {
  const Tensor all = x.detach().movedim(dim, 0).contiguous();
  auto sizes = all.sizes().vec();
  sizes[0] /= workers.size();
  const Tensor out = empty_beside(x, sizes);
  Array mine = wrap(out);
  workers.reduce_scatter(wrap(all), mine);
  return out.movedim(0, dim);
}

enum class Act { nothing, sum, gather, sum_blocks, block };
struct Acts {
  Act forward, backward;
};
// In the order of Convert.
constexpr Acts kActs[] = {
    {Act::nothing, Act::sum},       {Act::sum, Act::nothing},  {Act::sum, Act::sum},
    {Act::gather, Act::sum_blocks}, {Act::gather, Act::block}, {Act::sum_blocks, Act::gather},
    {Act::block, Act::gather},
};

Tensor act(Act what, const Tensor& x, std::int64_t dim, Collectives& workers) {
  switch (what) {
    case Act::nothing:
      return x;
    case Act::sum:
      return reduced(x, Collectives::Combine::sum, workers);
    case Act::gather:
      return gathered(x, dim, workers);
    case Act::sum_blocks:
      return sum_of_blocks(x, dim, workers);
    case Act::block:
      return own_block(x, dim, workers);
  }
  return x;
}

// The workers outlive every pass: the mesh of the run holds them.
struct Conversion : torch::autograd::Function<Conversion> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, std::int64_t how, std::int64_t dim,
                        Collectives* workers) {
    ctx->saved_data["how"] = how;
    ctx->saved_data["dim"] = dim;
    ctx->saved_data["workers"] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(workers));
    const Tensor y = act(kActs[how].forward, x, dim, *workers);
    return y.is_same(x) ? x.view(x.sizes()) : y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto* workers = reinterpret_cast<Collectives*>(  // NOLINT: kept as a number by the context
        static_cast<std::intptr_t>(ctx->saved_data["workers"].toInt()));
    const Act back = kActs[ctx->saved_data["how"].toInt()].backward;
    return {act(back, grads[0], ctx->saved_data["dim"].toInt(), *workers), Tensor(), Tensor(), Tensor()};
  }
};

struct Fan : torch::autograd::Function<Fan> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, std::int64_t lanes,
                               at::ScalarType type) {
    ctx->set_materialize_grads(true);
    ctx->saved_data["type"] = static_cast<std::int64_t>(x.scalar_type());
    const Tensor y = cast(x, type);
    variable_list out;
    for (std::int64_t i = 0; i < lanes; ++i) out.push_back(y.is_same(x) ? x.view(x.sizes()) : y.detach());
    return out;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list wide;
    for (const auto& g : grads)
      wide.push_back(cast(g, static_cast<at::ScalarType>(ctx->saved_data["type"].toInt())));
    return {sum_of_lanes(std::move(wide)), Tensor(), Tensor()};
  }
};

}  // namespace

std::vector<Tensor> fan(const Tensor& x, int lanes, std::optional<at::ScalarType> type) {
  const auto as = type.value_or(x.scalar_type());
  if (x.requires_grad() && at::GradMode::is_enabled())
    return Fan::apply(x, static_cast<std::int64_t>(lanes), as);
  return std::vector<Tensor>(static_cast<std::size_t>(lanes), cast(x, as));
}

Tensor sum_of_lanes(std::vector<Tensor> lanes) {
  for (std::size_t step = 1; step < lanes.size(); step *= 2) {
    for (std::size_t left = 0; left + step < lanes.size(); left += 2 * step)
      lanes[left] = at::_ops::add_Tensor::call(lanes[left], lanes[left + step], 1);
  }
  return lanes.front();
}

Tensor reduced(const Tensor& x, Collectives::Combine combine, Collectives& workers) {
  Tensor y = empty_beside(x, x.sizes());
  y.copy_(x.detach());
  Array values = wrap(y);
  workers.all_reduce(values, combine);
  return y;
}

Tensor convert(const Tensor& x, Convert how, std::int64_t dim, Collectives& workers) {
  if (records_twice()) {
    fail(ErrorKind::Unsupported,
         "hessian_vector_product: an operation exchanges values with other ranks, which has a first "
         "derivative "
         "only\nhint: compute the product on one rank, outside of the mesh");
  }
  const auto& acts = kActs[static_cast<std::size_t>(how)];
  if (x.requires_grad() && at::GradMode::is_enabled())
    return Conversion::apply(x, static_cast<std::int64_t>(how), dim, &workers);
  return act(acts.forward, x, dim, workers);
}

}  // namespace bora::core::autograd
