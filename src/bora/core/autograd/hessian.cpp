// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/hessian.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like_ops.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "bora/base/error.h"
#include "bora/core/autograd/recording_scope.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/parameter_store.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::variable_list;

constexpr std::string_view kName = "hessian_vector_product";

void check_vectors(std::span<Array* const> parameters, std::span<const Array> v) {
  if (parameters.size() != v.size()) {
    fail(ErrorKind::InvalidArgument, "{}: {} parameters but a vector of {} arrays", kName, parameters.size(),
         v.size());
  }
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Array& p = *parameters[i];
    if (!v[i].empty() && v[i].sizes() == p.sizes() && v[i].dtype() == p.dtype()) continue;
    fail(
        ErrorKind::InvalidArgument,
        "{}: parameter {} is [{}] of {} but the vector has {} there\nhint: the vector is like the parameters",
        kName, i, fmt::join(p.sizes(), ", "), name(p.dtype()),
        v[i].empty() ? "nothing"
                     : fmt::format("[{}] of {}", fmt::join(v[i].sizes(), ", "), name(v[i].dtype())));
  }
}

// d y / d leaves; undefined where y does not depend on one.
variable_list derivatives(const Tensor& y, const variable_list& leaves, bool again) {
  if (!y.defined() || !y.requires_grad()) return variable_list(leaves.size());
  return torch::autograd::grad({y}, leaves, {}, again, again, /*allow_unused=*/true);
}

std::vector<Array> or_zeros(const variable_list& derivatives, const variable_list& leaves) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Tensor& d = derivatives[i];
    out.push_back(wrap(d.defined() ? d.detach().contiguous()
                                   : at::_ops::zeros_like::call(leaves[i].detach(), {}, {}, {}, {}, {})));
  }
  return out;
}

}  // namespace

HessianProduct hessian_vector_product(std::span<Array* const> parameters, const std::function<Array()>& f,
                                      std::span<const Array> v) try {
  check_vectors(parameters, v);
  if (parameter_store() != nullptr) {
    fail(ErrorKind::Unsupported,
         "{}: the parameters are sharded, and a shard has first derivatives only\nhint: compute the product "
         "on "
         "one rank, outside of the mesh",
         kName);
  }
  const PlainOpsScope plain;
  const RecordingScope recording(kName, parameters, {}, /*twice=*/true);
  const Array value = scalar_of(f);
  variable_list leaves;
  for (const Array* p : parameters) leaves.push_back(tensor(*p));
  const variable_list first = derivatives(tensor(value), leaves, true);
  Tensor along;  // the gradient's product with v
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined() || !first[i].requires_grad()) continue;
    const Tensor part = first[i].mul(tensor(v[i])).sum();
    along = along.defined() ? along.add(part) : part;
  }
  const variable_list second = derivatives(along, leaves, false);
  return {wrap(tensor(value).detach()), or_zeros(first, leaves), or_zeros(second, leaves)};
} catch (...) {
  rethrow(kName, {});
}

}  // namespace bora::core
