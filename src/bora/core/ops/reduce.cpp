// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/reduce.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/sort_ops.h>

#include "bora/base/error.h"
#include "bora/core/autograd/softmax.h"
#include "bora/core/autograd/sums.h"
#include "bora/core/kernels/cpu/top_k.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
namespace {

using at::Tensor;

constexpr std::string_view kReductionNames[] = {"sum", "mean",      "max", "min",
                                                "var", "logsumexp", "any", "all"};

bool needs_floating(Reduction op) {
  return op == Reduction::mean || op == Reduction::var || op == Reduction::logsumexp;
}

// Without elements the others are 0, -inf, false and true.
bool needs_elements(Reduction op) {
  return op == Reduction::max || op == Reduction::min || op == Reduction::mean || op == Reduction::var;
}

Tensor truth(const Tensor& x) { return x.scalar_type() == at::kBool ? x : x.ne(0); }

Tensor reduce_dims(Reduction op, const Tensor& x, at::IntArrayRef dims) {
  switch (op) {
    case Reduction::sum:
      return x.sum(dims);
    case Reduction::mean:
      return x.mean(dims);
    case Reduction::max:
      return x.amax(dims);
    case Reduction::min:
      return x.amin(dims);
    case Reduction::var:
      return x.var(dims, /*unbiased=*/false);
    case Reduction::logsumexp:
      return x.logsumexp(dims);
    case Reduction::any:
      return truth(x).any(dims);
    case Reduction::all:
      return truth(x).all(dims);
  }
  return {};
}

Tensor fixed_mean(const Tensor& x) { return fixed_sum(x).div(static_cast<double>(x.numel())); }

Tensor fixed_variance(const Tensor& x) {
  const Tensor centred = x.sub(expand_one(fixed_mean(x), x.sizes()));
  return fixed_mean(centred.mul(centred));
}

Tensor fixed_logsumexp(const Tensor& x) {
  const Tensor largest = x.detach().amax();
  const Tensor shift = largest.where(largest.isfinite(), largest.new_zeros({}));
  return fixed_sum(x.sub(shift).exp()).log().add(shift);
}

// One number is left: torch would let threads decide the order of the additions.
Tensor reduce_to_one(Reduction op, const Tensor& x, at::IntArrayRef sizes) {
  switch (op) {
    case Reduction::sum:
      return fixed_sum(x).view(sizes);
    case Reduction::mean:
      return fixed_mean(x).view(sizes);
    case Reduction::var:
      return fixed_variance(x).view(sizes);
    case Reduction::logsumexp:
      return fixed_logsumexp(x).view(sizes);
    default:
      return {};
  }
}

bool order_matters(Reduction op) { return op == Reduction::sum || needs_floating(op); }

Tensor reduce_nothing(Reduction op, const Tensor& x) {
  if (op == Reduction::var) return x.sub(x);
  return op == Reduction::any || op == Reduction::all ? truth(x) : x;
}

void check_not_empty(std::string_view op, const Operand& x, at::IntArrayRef dims) {
  for (const std::int64_t dim : dims) {
    if (tensor(x.array).size(dim) > 0) continue;
    fail(ErrorKind::InvalidArgument, "{}: axis {} of {} has no elements", op, x.names[dim], describe(x));
  }
}

// Over the axes `over` as if they were one.
Array softmax_over(std::string_view op, const Operand& x, Names over, bool log) try {
  const Space space(op, {x}, over);
  dims_of(op, x, over);
  if (over.empty()) fail(ErrorKind::InvalidArgument, "{}: no axis was given", op);
  require_floating(op, x);
  NameList order = without(x.names, over);
  const auto kept = static_cast<std::int64_t>(order.size());
  order.insert(order.end(), over.begin(), over.end());
  const Tensor last = aligned(space.local(x), x.names, order);
  const Tensor y =
      over.size() == 1 ? softmax_last(last, log) : softmax_last(last.flatten(kept), log).view(last.sizes());
  return space.label(aligned(y, order, x.names), x.names);
} catch (...) {
  rethrow(op, {x});
}

std::pair<Tensor, Tensor> sorted(const Tensor& x, std::int64_t dim, bool descending) {
  auto [values, indices] = at::_ops::sort_stable::call(x, /*stable=*/true, dim, descending);
  return {std::move(values), std::move(indices)};
}

// at::topk leaves the order of equal elements open.
Tensor places_of_greatest(const Tensor& t, std::int64_t dim, std::int64_t k) {
  constexpr std::int64_t kFew = 32;
  if (k > kFew || dim != t.dim() - 1 || !t.is_cpu() || t.scalar_type() != at::kFloat)
    return sorted(t, dim, true).second.narrow(dim, 0, k).contiguous();
  const Tensor x = t.contiguous();
  Dims sizes(t.sizes().begin(), t.sizes().end());
  sizes.back() = k;
  Tensor places =
      at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kLong, {}, {}, {}, {});
  kernels::top_k(x.numel() / x.size(-1), x.size(-1), k, x.const_data_ptr<float>(),
                 places.mutable_data_ptr<std::int64_t>());
  return places;
}

}  // namespace

std::string_view name(Reduction op) { return kReductionNames[static_cast<std::size_t>(op)]; }

Array reduce(Reduction op, const Operand& x, Names over) try {
  const bool by_blocks = op == Reduction::sum || op == Reduction::mean;
  const Space space(name(op), {x}, by_blocks ? Names{} : over);
  const Dims dims = dims_of(name(op), x, over);
  if (needs_floating(op)) require_floating(name(op), x);
  if (needs_elements(op)) check_not_empty(name(op), x, dims);
  const Tensor t = space.local(x);
  const NameList kept = without(x.names, over);
  if (dims.empty()) return space.label(reduce_nothing(op, t), kept);
  Dims sizes;
  for (const std::string_view axis : kept) sizes.push_back(space.part(axis));
  const bool one =
      t.numel() > 0 && std::all_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n == 1; });
  Tensor y = one && order_matters(op) ? reduce_to_one(op, t, sizes) : reduce_dims(op, t, dims);
  if (op == Reduction::mean) {  // of blocks
    std::int64_t blocks = 1;
    for (const std::string_view axis : over) blocks *= space.size(axis) / space.part(axis);
    if (blocks > 1) y = y.div(static_cast<double>(blocks));
  }
  return space.label(y, kept);
} catch (...) {
  rethrow(name(op), {x});
}

Array argmax(const Operand& x, std::string_view axis) try {
  const Space space("argmax", {x}, {&axis, 1});
  const int dim = require("argmax", x, axis);
  check_not_empty("argmax", x, dim);
  const Tensor t = space.local(x);
  const Tensor comparable = t.scalar_type() == at::kBool ? t.to(at::kByte) : t;
  return space.label(comparable.argmax(dim), without(x.names, {&axis, 1}));
} catch (...) {
  rethrow("argmax", {x});
}

Array softmax(const Operand& x, Names over) { return softmax_over("softmax", x, over, false); }
Array log_softmax(const Operand& x, Names over) { return softmax_over("log_softmax", x, over, true); }

Array cumsum(const Operand& x, std::string_view axis) try {
  const Space space("cumsum", {x}, {&axis, 1});
  return space.label(space.local(x).cumsum(require("cumsum", x, axis)), x.names);
} catch (...) {
  rethrow("cumsum", {x});
}

std::pair<Array, Array> top_k(const Operand& x, std::string_view axis, std::int64_t k) try {
  const Space space("top_k", {x}, {&axis, 1});
  const int dim = require("top_k", x, axis);
  if (k < 1 || k > space.size(axis)) {
    fail(ErrorKind::InvalidArgument, "top_k: k = {} is not between 1 and the {} elements of axis {} in {}", k,
         space.size(axis), axis, describe(x));
  }
  const Tensor t = space.local(x);
  const Tensor indices = places_of_greatest(t.detach(), dim, k);
  return {space.label(t.gather(dim, indices), x.names), space.label(indices, x.names)};
} catch (...) {
  rethrow("top_k", {x});
}

std::pair<Array, Array> sort(const Operand& x, std::string_view axis, bool descending) try {
  const Space space("sort", {x}, {&axis, 1});
  auto [values, indices] = sorted(space.local(x), require("sort", x, axis), descending);
  return {space.label(std::move(values), x.names), space.label(std::move(indices), x.names)};
} catch (...) {
  rethrow("sort", {x});
}

}  // namespace bora::core
