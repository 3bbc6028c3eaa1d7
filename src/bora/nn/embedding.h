// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/dtype.h"
#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/context.h"
#include "bora/nn/init.h"

namespace bora::nn {

/// The nearest number of a floating-point dtype, ties to even: what a scalar becomes in a tensor.
double rounded(double value, core::DType dtype);

/// x · factor, the factor rounded to x's dtype first: √embed before Gemma's first layer.
template <NamedTensor X>
X scaled(const X& x, double factor) {
  return x * rounded(factor, x.dtype());
}

/// A table of vectors: rows along Vocab, each with the axis Embed.
template <Axis Vocab, Axis Embed>
struct Embedding {
  static constexpr std::string_view kind = "Embedding";
  static constexpr core::Role role = core::Role::embedding;
  Named<Vocab, Embed> weight;
  using fields = Fields<&Embedding::weight>;

  static Embedding init(Dim<Vocab> vocab, Dim<Embed> embed, Key key, double std) {
    return {normal_parameter(key, std, SizesOf<Axes<Vocab, Embed>>{vocab, embed})};
  }

  /// ids [...] -> [..., Embed]
  template <IndexTensor I>
    requires LacksAxes<I, Embed>
  auto operator()(const I& ids) const {
    using Result = concat<axes_of<I>, Axes<Embed>>;
    return named_over<Result>::adopt(core::take(weight.operand(), Vocab::name, ids.operand(), Result::names));
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor I>
  __attribute__((unavailable("Embedding<Vocab, Embed> takes ids (Indices) that lack the axis Embed"))) I
  operator()(const I& ids) const;
#endif
};

namespace detail {
core::Array add_positions(const core::Operand& x, const core::Array& table, std::string_view position,
                          core::Names place, const CachePass& pass);
}

/// x + the table's vectors of x's positions. With a cache, row by row of the first axis: each from the
/// position where it stands.
template <Axis Pos, Axis Embed, NamedTensor X>
  requires HasAxes<X, Pos, Embed>
X with_positions(const X& x, const Embedding<Pos, Embed>& table, const Context& context) {
  if (context.cache == nullptr) return x + slice<Pos>(table.weight, 0, x.template size<Pos>());
  return X::adopt(detail::add_positions(x.operand(), table.weight.array(), Pos::name, Axes<Pos, Embed>::names,
                                        *context.cache));
}

}  // namespace bora::nn
