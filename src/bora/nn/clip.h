// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/named/ops.h"
#include "bora/nn/embedding.h"

namespace bora::nn {

/// x where it is at most `limit`, rounded to x's dtype, else that. The gradient goes to what is within, the end
/// included. NaN stays.
template <NamedTensor X>
X at_most(const X& x, double limit) {
  const double end = rounded(limit, x.dtype());
  return where(logical_not(x > end), x, end);
}

/// x where it is within [-limit, limit], rounded to x's dtype, else the nearer end. Gradients and NaN: as in
/// at_most.
template <NamedTensor X>
X clipped(const X& x, double limit) {
  const double end = rounded(limit, x.dtype());
  const X below = at_most(x, limit);
  return where(logical_not(below < -end), below, -end);
}

}  // namespace bora::nn
