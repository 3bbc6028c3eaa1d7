// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/grouped.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>

#include <numeric>

namespace bora::core::plain {
namespace {

using at::Tensor;

// In memory of its own, and so its gradient, which a view and a plain copy would not do for both: a library's product
// may have other bits where an operand begins elsewhere, and where an expert's rows begin follows how many workers
// there are.
Tensor apart(const Tensor& x) { return x.flip(0).flip(0); }

}  // namespace

Tensor grouped(const Tensor& x, const Tensor& weight, const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<Tensor> parts;
  std::int64_t first = 0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int64_t m = std::accumulate(rows[e].begin(), rows[e].end(), std::int64_t{0});
    // those without rows too: the result depends on every expert
    const Tensor of_expert = apart(weight.select(0, static_cast<std::int64_t>(e)));
    parts.push_back(apart(apart(x.narrow(0, first, m)).mm(of_expert.t())));
    first += m;
  }
  return at::_ops::cat::call(at::ITensorListRef(parts), 0);
}

}  // namespace bora::core::plain
