// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/dtype.h"
#include "bora/named/fields.h"
#include "bora/named/ops.h"
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
  auto operator()(const I& ids) const {
    using Result = concat<axes_of<I>, Axes<Embed>>;
    return named_over<Result>::adopt(core::take(weight.operand(), Vocab::name, ids.operand(), Result::names));
  }
};

}  // namespace bora::nn
