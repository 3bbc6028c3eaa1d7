// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cmath>
#include <string_view>
#include <type_traits>

#include "bora/core/attention.h"
#include "bora/named/ops.h"
#include "bora/nn/context.h"
#include "bora/nn/init.h"

namespace bora::nn {

struct AttentionOptions {
  static constexpr bool is_buffer = true;  // none of it is trained by being here: sinks are those of a Sinks
  double scale = 0;                        ///< 0: 1/sqrt(head_dim)
  double dropout = 0;                      ///< of the attention probabilities, while training
  double soft_cap = 0;                     ///< > 0: scores = cap · tanh(scores / cap)
  std::int64_t window = 0;  ///< > 0: of this layer, beside that of the mask; the shorter one counts
  core::Array slopes = {};  ///< f32 [heads...] in the order of q's axes, or empty: ALiBi (nn/alibi.h)
  core::Array sinks = {};   ///< of the same axes, or empty: the scores of a Sinks
};

/// A learned score for each head, which takes part in every query's softmax and has no value, so that a head may
/// look at nothing (Xiao et al. 2024). `Heads`: the axes of q's heads, in their order.
template <Axis... Heads>
struct Sinks {
  static constexpr std::string_view kind = "Sinks";
  static constexpr core::Role role = core::Role::bias;
  Named<Heads...> scores;
  using fields = Fields<&Sinks::scores>;

  /// Normal scores of standard deviation `std`.
  static Sinks init(const SizesOf<Axes<Heads...>>& heads, Key key, double std) {
    return {normal_parameter(key, std, heads)};
  }
};

namespace detail {
/// `heads`: the axes of q's heads.
core::AttentionRule rule_for(const Context& context, const AttentionOptions& options,
                             core::Names segment_names, core::Names heads);
/// key position - position, [position, key_position].
core::Array distances(std::int64_t queries, std::int64_t keys);
/// 0 where the query may see the key, -inf where not: [position, key_position] or with the segments' batch
/// axes.
core::Array additive_mask(const Context& context, const AttentionOptions& options, std::int64_t queries,
                          std::int64_t keys);
/// With the keys and values of earlier positions; the first axis is that of the cache's rows.
core::Array cached_attention(const core::Operand& q, const core::Operand& k, const core::Operand& v,
                             const core::AttentionAxes& axes, const Context& context,
                             const AttentionOptions& options, core::Names heads);

template <class List>
struct first;
template <class A, class... As>
struct first<Axes<A, As...>> {
  using type = A;
};

template <class... Heads>
Named<Heads...> of_heads(Axes<Heads...>, const core::Array& values) {
  return from_array<Heads...>(values);
}
}  // namespace detail

/// The queries have Pos and HeadDim, the keys KeyPos and HeadDim, and nothing but KeyPos that the queries lack.
template <class Q, class K, class Pos, class KeyPos, class HeadDim>
concept Attends = HasAxes<Q, Pos, HeadDim> && HasAxes<K, KeyPos, HeadDim> && LacksAxes<Q, KeyPos> &&
                  subset<without<axes_of<K>, Axes<KeyPos>>, axes_of<Q>>;

/// Attention from its definition, with the matrix of probabilities: for dropout on it, and to check against.
template <Axis Pos, Axis KeyPos, Axis HeadDim, NamedTensor Q, NamedTensor K>
Q plain_attention(const Q& q, const K& k, const K& v, const Context& context,
                  const AttentionOptions& options = {}) {
  using Batch = typename detail::first<axes_of<Q>>::type;
  constexpr without<axes_of<Q>, Axes<Batch, Pos, HeadDim>> heads;
  double scale =
      options.scale > 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.template size<HeadDim>()));
  auto scores = dot<HeadDim>(q, k) * scale;
  if (options.soft_cap > 0) scores = tanh(scores / options.soft_cap) * options.soft_cap;
  const auto queries = q.template size<Pos>(), keys = k.template size<KeyPos>();
  if (!options.slopes.empty())
    scores = scores +
             cast(broadcast(detail::of_heads(heads, options.slopes), Dim<Pos>{queries}, Dim<KeyPos>{keys}) *
                      from_array<Pos, KeyPos>(detail::distances(queries, keys)),
                  scores.dtype());
  auto mask = detail::additive_mask(context, options, queries, keys);
  if (mask.rank() == 2)
    scores = scores + cast(from_array<Pos, KeyPos>(mask), scores.dtype());
  else
    scores = scores + cast(from_array<Batch, Pos, KeyPos>(mask), scores.dtype());
  auto weights = softmax<KeyPos>(scores);
  if (!options.sinks.empty())  // of each query's sum, what is left beside its head's sink
    weights = weights * sigmoid(logsumexp<KeyPos>(scores) -
                                cast(detail::of_heads(heads, options.sinks), scores.dtype()));
  if (context.key && options.dropout > 0)
    weights = bora::dropout(weights, options.dropout, *context.fold("attention"));
  return dot<KeyPos>(weights, v);
}

/// Softmax attention of queries along Pos to keys along KeyPos, scored over HeadDim. Axes that q shares with
/// k and v (batch, key/value heads) are matched; axes of q alone (query heads per group) share the keys:
/// grouped, multi-query and multi-head attention are one function. The result has the axes of q. With a
/// cache, its keys and values come before these. InvalidArgument for dropout or segments beside it.
template <Axis Pos, Axis KeyPos, Axis HeadDim, NamedTensor Q, NamedTensor K>
  requires Attends<Q, K, Pos, KeyPos, HeadDim>
Q attention(const Q& q, const K& k, const K& v, const Context& context,
            const AttentionOptions& options = {}) {
  const core::AttentionAxes axes{Pos::name, KeyPos::name, HeadDim::name};
  using Batch = typename detail::first<axes_of<Q>>::type;
  constexpr core::Names heads = without<axes_of<Q>, Axes<Batch, Pos, HeadDim>>::names;
  if (context.cache != nullptr) {
    return Q::adopt(
        detail::cached_attention(q.operand(), k.operand(), v.operand(), axes, context, options, heads));
  }
  if (options.dropout > 0 && context.key) {
    core::tell_of_plain_attention(q.array(), "dropout of its probabilities");
    return plain_attention<Pos, KeyPos, HeadDim>(q, k, v, context, options);
  }
  constexpr std::array<std::string_view, 2> segment_names{axes_of<Q>::names[0], Pos::name};
  const auto rule = detail::rule_for(context, options, segment_names, heads);
  return Q::adopt(core::attention(q.operand(), k.operand(), v.operand(), axes, rule));
}

#if defined(__clang__)  // as in named/refusals.h
template <Axis Pos, Axis KeyPos, Axis HeadDim, NamedTensor Q, NamedTensor K, NamedTensor V>
  requires(!Attends<Q, K, Pos, KeyPos, HeadDim> || !std::is_same_v<K, V>)
__attribute__((unavailable(
    "attention<Pos, KeyPos, HeadDim>(q, k, v): q must have Pos and HeadDim; k and v must have KeyPos, "
    "HeadDim and no axis that q lacks; rename<Pos, KeyPos>(k)"))) Q
attention(const Q& q, const K& k, const V& v, const Context& context, const AttentionOptions& options = {});
#endif

}  // namespace bora::nn
