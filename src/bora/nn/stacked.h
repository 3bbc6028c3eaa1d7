// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/named/bundle.h"
#include "bora/named/fields.h"
#include "bora/named/grad.h"
#include "bora/nn/context.h"
#include "bora/nn/init.h"
#include "bora/nn/remat_policy.h"

namespace bora::nn {

/// A block that can be called, and returns something else than it is given.
template <class Block, class X>
concept ReturnsOther = std::invocable<const Block&, const X&, const Context&> &&
                       !std::convertible_to<std::invoke_result_t<const Block&, const X&, const Context&>, X>;

/// Blocks in a row, each X -> X: hidden states, or a struct of them and of what else passes from block to
/// block (see named/bundle.h). Probes see the first tensor of a struct.
template <ListsEveryMember Block, class LeftOut = typename bora::detail::left_out<Block>::every_member>
struct Stacked {
  static constexpr std::string_view kind{};
  static constexpr bool elements_only = true;  ///< parameters are named by number: layers.0.attn...
  std::vector<Block> blocks;
  RematPolicy remat;
  using fields = Fields<&Stacked::blocks, &Stacked::remat>;

  template <Bundle X>
  X operator()(X x, const Context& context) const {
    auto n = static_cast<std::int64_t>(blocks.size());
    if (remat.kind != RematPolicy::Kind::nested || !core::recording())
      return run(std::move(x), context, 0, n, remat);
    auto group = nested_group(n);
    RematPolicy inner{RematPolicy::Kind::full};
    for (std::int64_t first = 0; first < n; first += group) {
      auto again = [self = *this, context, first, last = std::min(n, first + group), inner](const X& h) {
        return self.run(h, context, first, last, inner);
      };
      x = bora::remat(std::move(again), x);
    }
    return x;
  }

  template <NamedTensor X>
    requires(!std::invocable<const Block&, const X&, const Context&>)
  __attribute__((
      unavailable("a block is called with (x, context): X operator()(const X&, const nn::Context&) const"))) X
  operator()(X x, const Context& context) const;
  template <Bundle X>
    requires ReturnsOther<Block, X>
  __attribute__((unavailable("a block must return what it is given: hidden states of the same axes"))) X
  operator()(X x, const Context& context) const;

 private:
  // With the block's parameters at hand, in the dtype of the pass.
  template <Bundle X>
  static X apply(const Block& block, const X& x, const Context& context) {
    const bool cast = context.compute != core::DType::f32;
    if (!cast && core::parameter_store() == nullptr) return block(x, context);
    Block same = block;
    const auto arrays = core::with_parameters(arrays_of(parameters(same)), [&] {
      return arrays_of_bundle(
          X(cast ? cast_parameters(block, context.compute)(x, context) : block(x, context)));
    });
    return adopt_bundle<X>(arrays);
  }

  template <Bundle X>
  X run(X x, const Context& context, std::int64_t first, std::int64_t last, const RematPolicy& policy) const {
    core::Offload rest(last - first);
    for (std::int64_t i = first; i < last; ++i) {
      const Block& block = blocks[static_cast<std::size_t>(i)];
      auto here = context.at_layer(i);
      bool again = policy.kind == RematPolicy::Kind::full ||
                   (policy.kind == RematPolicy::Kind::every && i % policy.every == 0);
      // A copy: the backward pass may come after the model that ran forward is gone.
      const auto body = [&] { return [block, here](const X& h) { return apply(block, h, here); }; };
      if (policy.kind == RematPolicy::Kind::offload)
        x = bora::remat(body(), x, rest);
      else
        x = again ? bora::remat(body(), x) : apply(block, x, here);
      if (i + 1 < static_cast<std::int64_t>(blocks.size())) context.observe(i + 1, first_array(x));
    }
    return x;
  }
};

}  // namespace bora::nn
