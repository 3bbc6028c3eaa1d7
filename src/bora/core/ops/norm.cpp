// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/norm.h"

#include <ATen/core/Tensor.h>

#include <optional>

#include "bora/core/autograd/norm.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

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
  return reshaped(space.local({p, names}), {-1});
}

Space norm_space(std::string_view op, const Operand& x, const Array& weight, Names over) {
  return weight.empty() ? Space(op, {x}, over) : Space(op, {x, Operand{weight, over}}, over);
}

}  // namespace

Array rms_norm(const Operand& x, const Array& weight, Names over, double eps) try {
  Space space = norm_space("rms_norm", x, weight, over);
  NormRows rows(space, x, over);
  return rows.restore(autograd::rms_norm(rows.flat(), flat_parameter(space, weight, over), eps));
} catch (...) {
  rethrow("rms_norm", {x, Operand{weight, over}});
}

Array layer_norm(const Operand& x, const Array& weight, const Array& bias, Names over, double eps) try {
  Space space = norm_space("layer_norm", x, weight, over);
  NormRows rows(space, x, over);
  return rows.restore(autograd::layer_norm(rows.flat(), flat_parameter(space, weight, over),
                                           flat_parameter(space, bias, over), eps));
} catch (...) {
  rethrow("layer_norm", {x, Operand{weight, over}, Operand{bias, over}});
}

}  // namespace bora::core
