// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/contract.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>

#include <algorithm>
#include <optional>

#include "bora/base/error.h"
#include "bora/core/activation.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_matmul.h"
#include "bora/core/autograd/feed_forward.h"
#include "bora/core/autograd/fp8_matmul.h"
#include "bora/core/autograd/matmul.h"
#include "bora/core/elementwise.h"
#include "bora/core/fp8.h"
#include "bora/core/grad.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/convert.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/stored.h"

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
  for (auto axis : names) n *= space.lane_part(axis);
  return n;
}

// One lane of an operand as [batch, first, second] (or without batch), each a group of its axes.
at::Tensor grouped(const Space& space, const at::Tensor& x, Names names, const NameList& batch,
                   const NameList& first, const NameList& second) {
  NameList order = batch;
  order.insert(order.end(), first.begin(), first.end());
  order.insert(order.end(), second.begin(), second.end());
  std::vector<std::int64_t> sizes{product_of_sizes(space, first), product_of_sizes(space, second)};
  if (!batch.empty()) sizes.insert(sizes.begin(), product_of_sizes(space, batch));
  return reshaped(permuted(x, names, order), sizes);
}

// [contracted, columns] out of b. A weight stored [columns, contracted] is read transposed, without a copy.
at::Tensor right_matrix(const Space& space, const at::Tensor& b, Names names, const Roles& r) {
  bool columns_first = !r.columns.empty() && !r.contracted.empty() &&
                       find(names, r.columns.front()) < find(names, r.contracted.front());
  if (columns_first) return grouped(space, b, names, r.batch, r.columns, r.contracted).transpose(-1, -2);
  return grouped(space, b, names, r.batch, r.contracted, r.columns);
}

// The lanes' parts of a result: side by side along `dim`, or parts of a sum (-1).
at::Tensor joined_lanes(const std::vector<at::Tensor>& lanes, int dim) {
  if (lanes.size() == 1) return lanes.front();
  return dim < 0 ? autograd::sum_of_lanes(lanes) : at::_ops::cat::call(at::ITensorListRef(lanes), dim);
}

std::vector<Collectives*> workers_of(const Space& space, Names names) {
  std::vector<Collectives*> out;
  for (auto axis : names)
    if (auto* workers = space.workers(axis); workers != nullptr) out.push_back(workers);
  return out;
}

// What scales a product in fp8 that workers or lanes share; null where it is no such product.
std::shared_ptr<const autograd::WholeLargest> largest_of_shards(const Space& space, Names left, Names right,
                                                                std::span<const at::Tensor> lefts,
                                                                std::span<const autograd::Factor> factors) {
  if (mapping() == nullptr || !in_fp8() || !factors.front().maps || factors.front().values.dim() != 2)
    return {};
  std::vector<at::Tensor> weights;
  for (const auto& f : factors) weights.push_back(f.values.detach().t());
  if (!autograd::takes_fp8(lefts.front(), weights.front())) return {};
  const auto shards = [&](Names names,
                          std::span<const at::Tensor> lanes) {  // without the axis all lanes have the same
    const bool cut = find(names, space.laned()) >= 0;
    return autograd::Shards{lanes.first(cut ? lanes.size() : 1), workers_of(space, names)};
  };
  return autograd::whole_largest(shards(left, lefts), shards(right, weights));
}

// The same with a weight that is kept in fewer bytes: a path of its own, on one worker and without gradients.
Array contract_stored(std::string_view op, const Operand& a, const Operand& b, const Roles& r,
                      const Array& bias, Names out) {
  const auto& weight = *stored(b.array);
  const Space space(op, {a, b});
  NameList order = r.columns;
  order.insert(order.end(), r.contracted.begin(), r.contracted.end());
  const bool fits = std::ssize(r.columns) == weight.outputs &&
                    std::equal(order.begin(), order.end(), b.names.begin(), b.names.end());
  const auto& x = tensor(a.array);
  const bool trained = recording() && (x.requires_grad() || tensor(b.array).requires_grad());
  if (mapping() != nullptr || !fits || trained || x.scalar_type() != at::kFloat) refuse_stored(op, b);
  std::vector<std::int64_t> sizes;
  NameList names = r.rows;
  names.insert(names.end(), r.columns.begin(), r.columns.end());
  for (auto axis : names) sizes.push_back(space.size(axis));
  const auto c = stored_product(grouped(space, space.local(a), a.names, {}, r.rows, r.contracted), weight);
  Array y = space.label(permuted(reshaped(c, sizes), names, {out.begin(), out.end()}), out);
  return bias.empty() ? y : binary(Binary::add, {y, out}, {bias, r.columns}, out);
}

Array contract(std::string_view op, const Operand& a, const Operand& b, const Array& bias, Names out) try {
  auto r = roles_of(a, b, out);
  if (stored(b.array) != nullptr) return contract_stored(op, a, b, r, bias, out);
  Space space(op, {a, b});
  if (a.array.dtype() != b.array.dtype()) {
    fail(ErrorKind::InvalidArgument, "{}: {} is {} but {} is {}\nhint: cast one of them", op, describe(a),
         name(a.array.dtype()), describe(b), name(b.array.dtype()));
  }
  space.by_lanes();
  bool partial = false;  // a sum over workers is to come, and the bias after it
  for (auto axis : r.contracted) partial = partial || space.workers(axis) != nullptr;
  const Operand bias_operand{bias, r.columns};
  const bool has_bias = !bias.empty() && !partial;
  const auto lefts = space.local_lanes(a), rights = space.local_lanes(b);
  const auto biases = has_bias ? space.local_lanes(bias_operand) : std::vector<at::Tensor>();

  NameList order = r.batch;
  order.insert(order.end(), r.rows.begin(), r.rows.end());
  order.insert(order.end(), r.columns.begin(), r.columns.end());
  std::vector<std::int64_t> sizes;
  for (auto axis : order) sizes.push_back(space.lane_part(axis));
  const auto of_weight = space.parameter_of(b, rights.front()),
             of_bias = has_bias ? space.parameter_of(bias_operand, biases.front()) : at::Tensor();
  std::vector<at::Tensor> matrices, products;
  std::vector<autograd::Factor> factors;
  std::vector<std::optional<autograd::Factor>> flat_biases;
  for (std::size_t lane = 0; lane < lefts.size(); ++lane) {
    auto& flat_bias = flat_biases.emplace_back();
    if (has_bias) {
      flat_bias = autograd::factor_of(biases[lane], of_bias, [&](const at::Tensor& x) {
        return reshaped(x, {product_of_sizes(space, r.columns)});
      });
    }
    auto& right = factors.emplace_back(autograd::factor_of(
        rights[lane], of_weight, [&](const at::Tensor& x) { return right_matrix(space, x, b.names, r); }));
    right.maps = op == "linear";
    matrices.push_back(grouped(space, lefts[lane], a.names, r.batch, r.rows, r.contracted));
  }
  const auto whole = largest_of_shards(space, a.names, b.names, matrices, factors);
  for (std::size_t lane = 0; lane < lefts.size(); ++lane) {
    factors[lane].whole = whole;
    auto c = autograd::matmul(matrices[lane], factors[lane], flat_biases[lane]);
    products.push_back(permuted(reshaped(c, sizes), order, {out.begin(), out.end()}));
  }
  auto joined = joined_lanes(products, find(out, space.laned()));
  if (whole != nullptr) joined = autograd::measured(joined, *whole, workers_of(space, out));
  Array product = space.label(joined, out);
  if (bias.empty() || !partial) return product;
  return binary(Binary::add, {product, out}, bias_operand, out);
} catch (...) {
  rethrow(op, {a, b, Operand{bias, {}}});
}

// Of a map whose weight lies [columns, contracted]: both flat, each with what is differentiated.
autograd::FlatMap flat_map(const LinearMap& m, std::int64_t columns, std::int64_t contracted) {
  const auto factor = [](const Array& p, const std::vector<std::int64_t>& sizes) {
    const auto& wide = p.node()->wide;
    return autograd::factor_of(tensor(p), wide.empty() ? at::Tensor() : tensor(wide),
                               [&](const at::Tensor& y) { return reshaped(y, sizes); });
  };
  autograd::FlatMap out{factor(m.weight.array, {columns, contracted}), {}};
  if (!m.bias.empty()) out.bias = factor(m.bias, {columns});
  return out;
}
bool lies_as(const LinearMap& m, const NameList& columns, const NameList& contracted) {
  NameList order = columns;
  order.insert(order.end(), contracted.begin(), contracted.end());
  return stored(m.weight.array) == nullptr &&
         std::equal(order.begin(), order.end(), m.weight.names.begin(), m.weight.names.end());
}

// All maps by one product; nothing where that cannot be.
std::vector<Array> by_one_product(const Operand& x, std::span<const LinearMap> maps) try {
  if (maps.size() < 2 || mapping() != nullptr || !autograd::on_a_device(alike(x.array))) return {};
  std::vector<Roles> roles;
  std::vector<autograd::Factor> weights, biases;
  for (const auto& m : maps) {
    const Roles& r = roles.emplace_back(roles_of(x, m.weight, m.out));
    const bool fits = lies_as(m, r.columns, r.contracted) && m.weight.array.dtype() == x.array.dtype() &&
                      r.batch.empty() && r.contracted == roles.front().contracted &&
                      m.bias.empty() == maps.front().bias.empty();
    if (!fits) return {};
    const Space space("linear", {x, m.weight});
    const auto map = flat_map(m, product_of_sizes(space, r.columns), product_of_sizes(space, r.contracted));
    weights.push_back(map.weight);
    if (map.bias) biases.push_back(*map.bias);
  }
  const Roles& r = roles.front();
  const Space space("linear", {x, maps.front().weight});
  const auto products = autograd::joint_matmul(
      grouped(space, space.local(x), x.names, {}, r.rows, r.contracted), weights, biases);
  std::vector<Array> out;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Space one("linear", {x, maps[i].weight});
    NameList order = roles[i].rows;
    order.insert(order.end(), roles[i].columns.begin(), roles[i].columns.end());
    std::vector<std::int64_t> sizes;
    for (auto axis : order) sizes.push_back(one.lane_part(axis));
    out.push_back(one.label(permuted(reshaped(products[i], sizes), order, maps[i].out), maps[i].out));
  }
  return out;
} catch (...) {
  rethrow("linear", {x, maps.front().weight});
}

// The columns of `down` where it maps all columns of a first map, which has `rows` beside them; nothing where it does not, or
// lies in another way.
std::optional<NameList> columns_after(const LinearMap& down, const NameList& rows, const NameList& columns) {
  const auto weight = down.weight.names;
  if (weight.size() <= columns.size()) return std::nullopt;
  NameList own(weight.begin(), weight.end() - std::ssize(columns));
  const auto is_of_result = [&](std::string_view axis) { return find(down.out, axis) >= 0; };
  const bool fits = lies_as(down, own, columns) && down.out.size() == rows.size() + own.size() &&
                    std::ranges::all_of(rows, is_of_result) && std::ranges::all_of(own, is_of_result) &&
                    std::ranges::none_of(columns, is_of_result);
  return fits ? std::optional(own) : std::nullopt;
}

// With the activation in the products; empty where that cannot be.
Array within_products(const Operand& x, const LinearMap& up, Activation f, const LinearMap& down) try {
  if (mapping() != nullptr || !autograd::has_activated_products(alike(x.array), f)) return {};
  const auto is_of_another_type = [&](const Array& p) { return !p.empty() && p.dtype() != x.array.dtype(); };
  for (const Array& p : {up.weight.array, up.bias, down.weight.array, down.bias})
    if (is_of_another_type(p)) return {};
  const Roles r = roles_of(x, up.weight, up.out);
  const auto columns = columns_after(down, r.rows, r.columns);
  if (!columns || !r.batch.empty() || !lies_as(up, r.columns, r.contracted)) return {};
  const Space space("linear", {x, up.weight, down.weight});
  const auto n = product_of_sizes(space, r.columns);
  const auto y = autograd::feed_forward(grouped(space, space.local(x), x.names, {}, r.rows, r.contracted),
                                        flat_map(up, n, product_of_sizes(space, r.contracted)), f,
                                        flat_map(down, product_of_sizes(space, *columns), n));
  NameList order = r.rows;
  order.insert(order.end(), columns->begin(), columns->end());
  std::vector<std::int64_t> sizes;
  for (auto axis : order) sizes.push_back(space.size(axis));
  return space.label(permuted(reshaped(y, sizes), order, {down.out.begin(), down.out.end()}), down.out);
} catch (...) {
  rethrow("linear", {x, up.weight, down.weight});
}

}  // namespace

Array feed_forward(const Operand& x, const LinearMap& up, Activation f, const LinearMap& down) {
  if (auto y = within_products(x, up, f, down); !y.empty()) return y;
  const Array inner = linear(x, up.weight, up.bias, up.out);
  const Array active = activate(f, {inner, up.out});
  return linear({active, up.out}, down.weight, down.bias, down.out);
}

std::vector<Array> linears(const Operand& x, std::span<const LinearMap> maps) {
  auto out = by_one_product(x, maps);
  if (!out.empty()) return out;
  for (const auto& m : maps) out.push_back(linear(x, m.weight, m.bias, m.out));
  return out;
}

Array dot(const Operand& a, const Operand& b, Names out) { return contract("dot", a, b, {}, out); }

Array linear(const Operand& x, const Operand& weight, const Array& bias, Names out) {
  return contract("linear", x, weight, bias, out);
}

}  // namespace bora::core
