// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/named/fields.h"
#include "bora/named/ops.h"

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
    return named_over<Result>::adopt(core::linear(x.operand(), weight.operand(), {}, Result::names));
  }
};

/// The low-rank path of an adapted linear map (Hu et al. 2021): scale · B·(A·x). W + B·A is never formed. B
/// starts as zeros, so that the adapted map starts as the map itself.
template <class In, class Out>
struct LowRank {
  static constexpr std::string_view kind = "LowRank";
  static constexpr core::Role role = core::Role::adapter;
  Factor<In, Axes<LoraRank>> a;
  Factor<Axes<LoraRank>, Out> b;
  double scale = 1;
  using fields = Fields<&LowRank::a, &LowRank::b, &LowRank::scale>;

  template <NamedTensor X>
  auto operator()(const X& x) const {
    return b(a(x)) * scale;
  }
};

}  // namespace bora::nn
