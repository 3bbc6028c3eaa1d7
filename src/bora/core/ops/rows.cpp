// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/maximum_ops.h>

#include "bora/core/layout/refusal.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/node.h"

namespace bora::core {

Array combine_rows(const Array& rows, Collectives::Combine combine) try {
  const at::Tensor all = tensor(rows).detach();
  const std::int64_t n = all.size(0);
  for (std::int64_t step = 1; step < n; step *= 2) {
    for (std::int64_t left = 0; left + step < n; left += 2 * step) {
      at::Tensor a = all.select(0, left);
      const at::Tensor b = all.select(0, left + step);
      if (combine == Collectives::Combine::max) {
        at::_ops::maximum_out::call(a, b, a);
      } else if (a.scalar_type() == at::kFloat) {
        Array into = wrap(a);
        add_into(into, wrap(b));
      } else {
        at::_ops::add_out::call(a, b, 1, a);
      }
    }
  }
  return wrap(all.select(0, 0));
} catch (...) {
  rethrow("combine_rows", {Operand{rows, {}}});
}

}  // namespace bora::core
