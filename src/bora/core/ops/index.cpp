// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/index.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax_ops.h>
#include <ATen/ops/arange_ops.h>

#include <optional>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/embedding.h"
#include "bora/core/grad.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/node.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

using at::Tensor;

at::Tensor count_to(std::int64_t n, const Tensor& beside) {
  return at::_ops::arange::call(n, at::kLong, {}, beside.device(), {});
}

// The first found of the indices that are not in [0, size).
std::optional<std::int64_t> outside(const Tensor& indices, std::int64_t size) {
  // elsewhere a look would wait for the device, whose own kernels check
  if (indices.numel() == 0 || !indices.device().is_cpu()) return std::nullopt;
  const auto [low, high] = at::_ops::aminmax::call(indices, {}, false);
  const auto smallest = low.item().toLong(), largest = high.item().toLong();
  if (smallest >= 0 && largest < size) return std::nullopt;
  return smallest < 0 ? smallest : largest;
}

void check_bounds(std::string_view op, const Operand& x, std::string_view axis, const Tensor& indices,
                  std::int64_t size) {
  const auto index = outside(indices, size);
  if (!index) return;
  fail(ErrorKind::InvalidArgument,
       "{}: index {} is outside axis {} of size {} in {}\nhint: indices go from 0 to {}", op, *index, axis,
       size, describe(x), size - 1);
}

// The axes of an indexed array x along `axis`, sorted by their part: shared with the indices, of the indices
// alone, of x alone. The indices may have an axis of the same name as `axis`: it is then the new one, not a
// shared one.
struct Plan {
  Plan(std::string_view op, const Operand& x, std::string_view indexed, const Operand& indices)
      : dim(require(op, x, indexed)), axis(indexed), x_names(x.names.begin(), x.names.end()) {
    if (find(indices.names, axis) >= 0) x_names[dim] = kIndexed;
    for (const std::string_view name : x_names) {
      if (name == x_names[dim]) continue;
      (find(indices.names, name) >= 0 ? shared : own).push_back(name);
    }
    only_indices = without(indices.names, shared);
  }
  NameList stored() const { return joined(joined(shared, {&x_names[dim], 1}), own); }  // [shared, axis, own]
  NameList index_order() const { return joined(shared, only_indices); }
  NameList result() const { return joined(index_order(), own); }

  static constexpr std::string_view kIndexed = "(indexed)";
  int dim;
  std::string_view axis;
  NameList x_names;  // of x, `axis` renamed if need be
  NameList shared, only_indices, own;
};

Dims sizes_of(const Space& space, const NameList& names) {
  Dims sizes;
  for (const std::string_view axis : names) sizes.push_back(space.part(axis));
  return sizes;
}

std::int64_t count(const Space& space, const NameList& names) {
  std::int64_t n = 1;
  for (const std::string_view axis : names) n *= space.part(axis);
  return n;
}

// The indices as places in this worker's shard of the indexed axis, and whether they are there. (all of them:
// no tensor)
struct Places {
  Tensor index, inside;
};

Places places(const Space& space, const Plan& plan, const Operand& indices) {
  const Tensor all = aligned(space.local(indices), indices.names, plan.index_order()).to(at::kLong);
  const std::string_view axis = plan.x_names[plan.dim];
  if (space.workers(axis) == nullptr) return {all, {}};
  const Tensor here = all.sub(space.first(axis));
  return {here.clamp(0, space.part(axis) - 1), here.ge(0).logical_and(here.lt(space.part(axis)))};
}

// Rows of x stored as [shared · axis, own] that the indices choose, flat, in the order of Plan::index_order.
Tensor rows(const Space& space, const Plan& plan, const Tensor& index) {
  const std::int64_t groups = count(space, plan.shared), size = space.part(plan.x_names[plan.dim]);
  Tensor flat = index.reshape({-1});
  if (plan.shared.empty()) return flat;
  return flat.view({groups, -1}).add(count_to(groups, flat).mul_(size).view({groups, 1})).view({-1});
}

// take where every axis of x but `axis` is shared: one element for each index.
Tensor pick(const Space& space, const Plan& plan, const Operand& x, const Tensor& index) {
  const auto dim = static_cast<std::int64_t>(plan.shared.size());
  const Tensor stored = aligned(space.local(x), plan.x_names, plan.stored());
  Dims sizes = sizes_of(space, plan.shared);
  sizes.push_back(-1);
  return stored.gather(dim, index.reshape(sizes)).view(sizes_of(space, plan.result()));
}

// Of a parameter's copy in fewer bytes the parameter's rows are copied: the same values, whose gradients are added in
// the parameter's type.
Tensor look_up(const Space& space, const Plan& plan, const Operand& x, const Tensor& index) {
  const auto* weight = stored(x.array);  // unless it is read here, local() refuses it
  if (weight != nullptr && plan.dim == 0 && weight->outputs == 1 && plan.shared.empty() &&
      mapping() == nullptr && !(recording() && tensor(x.array).requires_grad()))
    return stored_rows(*weight, index.reshape({-1})).view(sizes_of(space, plan.result()));
  const Array& parameter = x.array.node()->wide;
  const Tensor values = space.local({parameter.empty() ? x.array : parameter, x.names});
  const Tensor stored = aligned(values, plan.x_names, plan.stored());
  const std::int64_t width = count(space, plan.own);
  const Tensor table =
      stored.reshape({count(space, plan.shared) * space.part(plan.x_names[plan.dim]), width});
  const Tensor found = autograd::embedding(table, rows(space, plan, index));
  return autograd::cast(found, tensor(x.array).scalar_type()).view(sizes_of(space, plan.result()));
}

}  // namespace

Array take(const Operand& x, std::string_view axis, const Operand& indices, Names out) try {
  const Space each("take", {x});
  const Plan plan("take", x, axis, indices);
  Space space("take", {Operand{x.array, plan.x_names}, indices});
  space.by_lanes();  // of a sum's parts all but one are zero
  require_indices("take", indices);
  require_same_axes("take", plan.result(), out);
  check_bounds("take", x, axis, space.local(indices), each.size(axis));
  const bool picks = plan.own.empty() && !plan.shared.empty();
  const auto [index, inside] = places(space, plan, indices);
  Tensor found = picks ? pick(space, plan, x, index) : look_up(space, plan, x, index);
  if (inside.defined()) {
    Dims sizes = inside.sizes().vec();
    sizes.resize(found.dim(), 1);
    found = found.mul(inside.view(sizes).to(found.scalar_type()));
  }
  return space.label(aligned(found, plan.result(), out), out);
} catch (...) {
  rethrow("take", {x, indices});
}

Array scatter_add(const Operand& base, std::string_view axis, const Operand& indices,
                  const Operand& updates) try {
  const Space each("scatter_add", {base});
  const Plan plan("scatter_add", base, axis, indices);
  const NameList everything = joined(joined(plan.x_names, indices.names), updates.names);
  const Space space("scatter_add", {Operand{base.array, plan.x_names}, indices, updates}, everything);
  require_indices("scatter_add", indices);
  require_same_dtype("scatter_add", base, updates);
  if (updates.names.size() != plan.result().size() || !within(updates.names, plan.result())) {
    fail(ErrorKind::InvalidArgument, "scatter_add: the updates must have the axes {}, they are {}",
         describe(plan.result()), describe(updates));
  }
  check_bounds("scatter_add", base, axis, space.local(indices), each.size(axis));
  const NameList stored = plan.stored();
  const Tensor old = aligned(space.local(base), plan.x_names, stored);
  const Tensor row = rows(space, plan, places(space, plan, indices).index);
  const std::int64_t height = count(space, plan.shared) * space.part(plan.x_names[plan.dim]);
  const std::int64_t width = count(space, plan.own);
  const Tensor added = aligned(space.local(updates), updates.names, plan.result()).reshape({-1, width});
  const Tensor total = at::isFloatingType(added.scalar_type())
                           ? old.add(autograd::row_sums(added, row, height).view(old.sizes()))
                           : old.reshape({height, width}).index_add(0, row, added).view(old.sizes());
  return space.label(aligned(total, stored, plan.x_names), base.names);
} catch (...) {
  rethrow("scatter_add", {base, indices, updates});
}

Array one_hot(const Operand& indices, std::string_view axis, std::int64_t size, DType dtype) try {
  const Space space("one_hot", {indices});
  require_indices("one_hot", indices);
  require_new("one_hot", indices, axis);
  if (size < 0) fail(ErrorKind::InvalidArgument, "one_hot: axis {} cannot have size {}", axis, size);
  const Tensor places = space.local(indices);
  if (const auto index = outside(places, size)) {
    fail(ErrorKind::InvalidArgument,
         "one_hot: index {} is outside axis {} of size {}\nhint: indices go from 0 to {}", *index, axis, size,
         size - 1);
  }
  NameList names(indices.names.begin(), indices.names.end());
  names.push_back(axis);
  return space.label(places.unsqueeze(-1).eq(count_to(size, places)).to(scalar_type(dtype)), names);
} catch (...) {
  rethrow("one_hot", {indices});
}

}  // namespace bora::core
