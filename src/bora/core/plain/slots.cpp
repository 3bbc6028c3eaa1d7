// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/slots.h"

#include <ATen/core/Tensor.h>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

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
