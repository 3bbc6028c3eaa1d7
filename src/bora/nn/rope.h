// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/rope.h"
#include "bora/core/update.h"
#include "bora/named/ops.h"
#include "bora/nn/context.h"
#include "bora/nn/rope_config.h"

namespace bora::nn {

/// Precomputed angles: cos and sin [position, half].
struct RopeTable {
  core::Array cos, sin;

  static RopeTable make(const RopeConfig& config, std::int64_t head_dim, std::int64_t positions);
};

/// Rotates x along HeadDim by the angles of its positions along Pos.
template <Axis Pos, Axis HeadDim, NamedTensor X>
requires HasAxes<X, Pos, HeadDim> X rope(const X& x, const RopeTable& table, const Context& context) {
  auto first = context.first_position();
  if (first == 0) return X::adopt(core::rope(x.operand(), Pos::name, HeadDim::name, table.cos, table.sin));
  auto n = x.template size<Pos>();
  return X::adopt(core::rope(x.operand(), Pos::name, HeadDim::name, core::read_slice(table.cos, 0, first, n),
                             core::read_slice(table.sin, 0, first, n)));
}

}  // namespace bora::nn
