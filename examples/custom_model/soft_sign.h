// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// An operation that Bora does not have: x / (1 + |x|), which keeps numbers within (-1, 1), with its own
// backward pass.
#pragma once
#include <span>
#include <vector>

#include "bora/core/custom_op.h"
#include "bora/core/elementwise.h"
#include "bora/named/named.h"

namespace bigram {

using namespace bora;

// [op]
inline core::Array soft_sign_forward(std::span<const core::Operand> in) {
  const auto& x = in[0];
  const core::Array size = core::binary(core::Binary::add, {core::unary(core::Unary::abs, x), x.names}, 1);
  return core::binary(core::Binary::divide, x, {size, x.names}, x.names);
}

// dx = (1 - |y|)² dy: of the result alone
inline std::vector<core::Array> soft_sign_backward(std::span<const core::Operand>, const core::Operand& y,
                                                   const core::Operand& dy) {
  const core::Array rest =
      core::binary(core::Binary::subtract, 1, {core::unary(core::Unary::abs, y), y.names});
  const core::Array slope = core::unary(core::Unary::square, {rest, y.names});
  return {core::binary(core::Binary::multiply, {slope, y.names}, dy, y.names)};
}

/// Elementwise, so that any of the axes may be cut over ranks.
template <Axis... As>
Named<As...> soft_sign(const Named<As...>& x) {
  static const core::CustomOp op({.name = "soft_sign",
                                  .forward = soft_sign_forward,
                                  .backward = soft_sign_backward,
                                  .cut = {std::string(As::name)...},
                                  .summed = {}});
  return from_array<As...>(op({x.operand()}, Axes<As...>::names));
}
// [op]

}  // namespace bigram
