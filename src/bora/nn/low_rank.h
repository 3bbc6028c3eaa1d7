// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string_view>

#include "bora/base/key.h"
#include "bora/core/fp8.h"
#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/lora_shape.h"

namespace bora::nn {

struct LoraRank : axis<"lora_rank"> {};

/// One factor of a low-rank path: W·x, from the axes In to the axes Out.
template <class In, class Out>
struct Factor {
  using in = In;
  named_over<concat<Out, In>> weight;
  using fields = Fields<&Factor::weight>;

  template <NamedTensor X>
  auto operator()(const X& x) const {
    using Result = concat<without<axes_of<X>, In>, Out>;
    const core::Fp8Scope as_it_is(false);
    return named_over<Result>::adopt(core::linear(x.operand(), weight.operand(), {}, Result::names));
  }
};

/// The low-rank path of an adapted linear map (Hu et al. 2021): scale · B·(A·dropout(x)). W + B·A is never
/// formed. B starts as zeros, so that the adapted map starts as the map itself.
template <class In, class Out>
struct LowRank {
  static constexpr std::string_view kind = "LowRank";
  static constexpr core::Role role = core::Role::adapter;
  Factor<In, Axes<LoraRank>> a;
  Factor<Axes<LoraRank>, Out> b;
  LoraShape shape;
  std::optional<Key> key;  ///< of this pass (drop_inputs in nn/lora.h); none: no dropout
  using fields = Fields<&LowRank::a, &LowRank::b, &LowRank::shape, &LowRank::key>;

  template <NamedTensor X>
  auto operator()(const X& x) const {
    const bool drops = key && shape.dropout > 0;
    return b(a(drops ? bora::dropout(x, shape.dropout, *key) : x)) * shape.scale();
  }
};

}  // namespace bora::nn
