// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/contract.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/permute_ops.h>
#include <ATen/ops/reshape_ops.h>

#include <optional>

#include "bora/base/error.h"
#include "bora/core/elementwise.h"
#include "bora/core/torch/fused_autograd.h"
#include "bora/core/torch/layout.h"

namespace bora::core {
namespace {

using NameList = std::vector<std::string_view>;

// The axes of a product by role, each list in the order in which the first operand that has them holds them.
struct Roles {
  NameList batch, rows, columns, contracted;
};

Roles roles_of(const Operand& a, const Operand& b, Names out) {
  Roles r;
  for (auto axis : a.names) {
    bool shared = find(b.names, axis) >= 0, kept = find(out, axis) >= 0;
    if (!shared && !kept) {
      fail(ErrorKind::InvalidArgument,
           "dot: axis {} is in {} but neither in {} nor in the result {}\nhint: sum over it first", axis,
           describe(a), describe(b), describe(out));
    }
    (!shared ? r.rows : kept ? r.batch : r.contracted).push_back(axis);
  }
  for (auto axis : b.names) {
    if (find(a.names, axis) >= 0) continue;
    if (find(out, axis) < 0) {
      fail(ErrorKind::InvalidArgument,
           "dot: axis {} is in {} but neither in {} nor in the result {}\nhint: sum over it first", axis,
           describe(b), describe(a), describe(out));
    }
    r.columns.push_back(axis);
  }
  return r;
}

std::int64_t product_of_sizes(const Space& space, const NameList& names) {
  std::int64_t n = 1;
  for (auto axis : names) n *= space.part(axis);
  return n;
}

bool identity(const std::vector<std::int64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

at::Tensor permuted(const at::Tensor& x, Names from, const NameList& to) {
  std::vector<std::int64_t> order;
  for (auto axis : to) order.push_back(find(from, axis));
  return identity(order) ? x : at::_ops::permute::call(x, order);
}

at::Tensor reshaped(const at::Tensor& x, const std::vector<std::int64_t>& sizes) {
  return x.sizes() == at::IntArrayRef(sizes) ? x
                                             : at::_ops::reshape::call(x, c10::fromIntArrayRefSlow(sizes));
}

// An operand as [batch, first, second] (or without batch), each a group of its axes.
at::Tensor grouped(const Space& space, const Operand& x, const NameList& batch, const NameList& first,
                   const NameList& second) {
  NameList order = batch;
  order.insert(order.end(), first.begin(), first.end());
  order.insert(order.end(), second.begin(), second.end());
  std::vector<std::int64_t> sizes{product_of_sizes(space, first), product_of_sizes(space, second)};
  if (!batch.empty()) sizes.insert(sizes.begin(), product_of_sizes(space, batch));
  return reshaped(permuted(space.local(x), x.names, order), sizes);
}

// [contracted, columns] out of b. A weight stored [columns, contracted] is read transposed, without a copy.
at::Tensor right_matrix(const Space& space, const Operand& b, const Roles& r) {
  bool columns_first = !r.columns.empty() && !r.contracted.empty() &&
                       find(b.names, r.columns.front()) < find(b.names, r.contracted.front());
  if (columns_first) return grouped(space, b, r.batch, r.columns, r.contracted).transpose(-1, -2);
  return grouped(space, b, r.batch, r.contracted, r.columns);
}

Array contract(std::string_view op, const Operand& a, const Operand& b, const Array& bias, Names out) {
  auto r = roles_of(a, b, out);
  Space space(op, {a, b});
  if (a.array.dtype() != b.array.dtype()) {
    fail(ErrorKind::InvalidArgument, "{}: {} is {} but {} is {}\nhint: cast one of them", op, describe(a),
         name(a.array.dtype()), describe(b), name(b.array.dtype()));
  }
  auto left = grouped(space, a, r.batch, r.rows, r.contracted);
  const Operand bias_operand{bias, r.columns};
  bool partial = false;  // a sum over workers is to come, and the bias after it
  for (auto axis : r.contracted) partial = partial || space.workers(axis) != nullptr;
  std::optional<at::Tensor> flat_bias;
  if (!bias.empty() && !partial)
    flat_bias = reshaped(space.local(bias_operand), {product_of_sizes(space, r.columns)});
  auto c = autograd::matmul(left, right_matrix(space, b, r), flat_bias);

  NameList order = r.batch;
  order.insert(order.end(), r.rows.begin(), r.rows.end());
  order.insert(order.end(), r.columns.begin(), r.columns.end());
  std::vector<std::int64_t> sizes;
  for (auto axis : order) sizes.push_back(space.part(axis));
  Array product = space.label(permuted(reshaped(c, sizes), order, {out.begin(), out.end()}), out);
  if (bias.empty() || !partial) return product;
  return binary(Binary::add, {product, out}, bias_operand, out);
}

}  // namespace

Array dot(const Operand& a, const Operand& b, Names out) { return contract("dot", a, b, {}, out); }

Array linear(const Operand& x, const Operand& weight, const Array& bias, Names out) {
  return contract("linear", x, weight, bias, out);
}

}  // namespace bora::core
