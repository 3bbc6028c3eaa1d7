// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/norm.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/norm.h"
#include "bora/core/autograd/norm_of_sum.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

// x as [rows, the axes `over` together], and back again.
struct NormRows {
  const Space& space;
  Operand x;
  NameList order;
  std::int64_t columns;

  NormRows(const Space& s, const Operand& operand, Names over)
      : space(s), x(operand), columns(product(s, over)) {
    for (auto axis : over) require(s.op(), operand, axis);
    order = without(x.names, over);
    order.insert(order.end(), over.begin(), over.end());
  }
  at::Tensor flat() const { return reshaped(permuted(space.local(x), x.names, order), {-1, columns}); }
  Array restore(const at::Tensor& y) const {
    auto full = reshaped(y, sizes_of(space, order));
    return space.label(permuted(full, order, x.names), x.names);
  }
};

std::optional<at::Tensor> flat_parameter(const Space& space, const Array& p, Names names) {
  if (p.empty()) return std::nullopt;
  // of a device, whose kernels take the parameter itself beside bf16
  const Array& wide = p.node()->wide;
  const bool as_it_is = !wide.empty() && autograd::on_a_device(tensor(wide));
  return reshaped(space.local({as_it_is ? wide : p, names}), {-1});
}

// Where x is a sum that waits for a norm: both by one kernel.
std::optional<Array> of_pending_sum(const NormRows& rows, const std::optional<at::Tensor>& weight,
                                    const std::optional<at::Tensor>& bias, bool centred, double eps) {
  Node& node = *rows.x.array.node();
  const bool as_it_lies = std::equal(rows.order.begin(), rows.order.end(), rows.x.names.begin());
  if (!node.pending || !as_it_lies || node.pending->recorded != at::GradMode::is_enabled())
    return std::nullopt;
  const auto& left = tensor(node.pending->left);
  const auto& kernels = device_kernels(left);
  if (centred ? kernels.layer_norm.forward == nullptr : kernels.rms_norm.forward == nullptr)
    return std::nullopt;
  const auto flat = [&](const at::Tensor& x) { return reshaped(x, {-1, rows.columns}); };
  const auto both =
      autograd::norm_of_sum(flat(left), flat(tensor(node.pending->right)), weight, bias, centred, eps);
  node.tensor = reshaped(both.sum, left.sizes().vec());
  node.pending.reset();
  return rows.restore(both.y);
}

Space norm_space(std::string_view op, const Operand& x, const Array& weight, Names over) {
  return weight.empty() ? Space(op, {x}, over) : Space(op, {x, Operand{weight, over}}, over);
}

}  // namespace

Array rms_norm(const Operand& x, const Array& weight, Names over, double eps) try {
  Space space = norm_space("rms_norm", x, weight, over);
  NormRows rows(space, x, over);
  const auto w = flat_parameter(space, weight, over);
  if (auto y = of_pending_sum(rows, w, std::nullopt, false, eps)) return *y;
  return rows.restore(autograd::rms_norm(rows.flat(), w, eps));
} catch (...) {
  rethrow("rms_norm", {x, Operand{weight, over}});
}

Array layer_norm(const Operand& x, const Array& weight, const Array& bias, Names over, double eps) try {
  Space space = norm_space("layer_norm", x, weight, over);
  NormRows rows(space, x, over);
  const auto w = flat_parameter(space, weight, over), b = flat_parameter(space, bias, over);
  if (auto y = of_pending_sum(rows, w, b, true, eps)) return *y;
  return rows.restore(autograd::layer_norm(rows.flat(), w, b, eps));
} catch (...) {
  rethrow("layer_norm", {x, Operand{weight, over}, Operand{bias, over}});
}

}  // namespace bora::core
