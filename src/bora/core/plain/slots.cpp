// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/slots.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include <algorithm>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

Places places(const Tensor& choices, std::int64_t experts, std::int64_t parts) {
  const Tensor expert = choices.reshape({-1}).to(at::kLong);
  // of a permutation the inverse: the place of each in the order by expert
  const Tensor order = expert.argsort(/*stable=*/true, 0, /*descending=*/false);
  const std::int64_t of_part = std::max<std::int64_t>(1, expert.numel() / parts);
  const auto count = [&](std::int64_t n) { return at::arange(n, expert.options()); };
  const Tensor part = count(expert.numel()).floor_divide(of_part);
  const Tensor visited = expert.mul(parts).add(part).unsqueeze(0);
  const Tensor rows = visited.eq(count(experts * parts).unsqueeze(1)).sum(1);
  return {order.argsort().to(at::kInt).view(choices.sizes()), rows.to(at::kInt).to(at::kCPU)};
}

Tensor dispatch(const Tensor& x, const Tensor& place) {
  const Tensor token = place.reshape({-1}).argsort().floor_divide(place.size(1));
  return x.index_select(0, token);
}

Tensor combine(const Tensor& y, const Tensor& weights, const Tensor& place) {
  const Tensor visits = widened(y).index_select(0, place.reshape({-1}));
  const Tensor by_token = visits.view({place.size(0), place.size(1), y.size(1)});
  return by_token.mul(widened(weights).to(by_token.scalar_type()).unsqueeze(-1)).sum(1).to(y.scalar_type());
}

}  // namespace bora::core::plain
