// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/rope.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>

#include <vector>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor wide = widened(x);
  const auto half = cos.size(1), positions = x.size(1), rest = x.size(3) - 2 * half;
  const auto angles = [&](const Tensor& all) {
    return all.narrow(0, 0, positions).to(wide.scalar_type()).view({1, positions, 1, half});
  };
  const Tensor c = angles(cos), s = angles(sin);
  const Tensor first = wide.narrow(3, 0, half), second = wide.narrow(3, half, half);
  std::vector<Tensor> parts{first.mul(c).sub(second.mul(s)), second.mul(c).add(first.mul(s))};
  if (rest > 0) parts.push_back(wide.narrow(3, 2 * half, rest));
  return at::_ops::cat::call(at::ITensorListRef(parts), 3).to(x.scalar_type());
}

}  // namespace bora::core::plain
