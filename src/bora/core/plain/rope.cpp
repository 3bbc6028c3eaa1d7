// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/rope.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/stack_ops.h>

#include <vector>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairs pairs) {
  const Tensor wide = widened(x);
  const auto half = cos.size(1), positions = x.size(1), rest = x.size(3) - 2 * half;
  const auto angles = [&](const Tensor& all) {
    return all.narrow(0, 0, positions).to(wide.scalar_type()).view({1, positions, 1, half});
  };
  const Tensor c = angles(cos), s = angles(sin);
  const bool neighbours = pairs == RopePairs::neighbours;
  const Tensor by_pair = wide.narrow(3, 0, 2 * half).unflatten(3, {half, 2});
  const Tensor first = neighbours ? by_pair.select(4, 0) : wide.narrow(3, 0, half);
  const Tensor second = neighbours ? by_pair.select(4, 1) : wide.narrow(3, half, half);
  std::vector<Tensor> parts{first.mul(c).sub(second.mul(s)), second.mul(c).add(first.mul(s))};
  if (neighbours) parts = {at::_ops::stack::call(parts, 4).flatten(3)};
  if (rest > 0) parts.push_back(wide.narrow(3, 2 * half, rest));
  return at::_ops::cat::call(at::ITensorListRef(parts), 3).to(x.scalar_type());
}

}  // namespace bora::core::plain
