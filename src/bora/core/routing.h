// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The way of the tokens of a mixture of experts to those that they choose, and back.
#pragma once
#include <cstdint>
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// A slot is a visit of one token to one expert. Slots are sorted by expert, those of an expert in the order
/// of the tokens. Nothing is dropped: there are as many slots as choices.
struct Routing {
  Array place;  ///< i32 [tokens..., choice]: the slot of each visit
  /// i32 [expert, part], in host memory: slots of each expert. One part, or one for each row of a batch that is computed
  /// apart (rows_apart.h): those of an expert follow each other.
  Array rows;
};

/// choices: whole numbers [tokens..., choice], the experts that each token visits. InvalidArgument for one
/// outside of [0, experts). Not differentiated.
Routing route(const Operand& choices, std::int64_t experts);

/// x [tokens..., rest...] -> [slot, rest...]: each visit with its token's elements. `tokens`: the axes of
/// Routing::place but the last. `out`: the result's axes, the slots' first, the others in x's order.
Array dispatch(const Operand& x, const Routing& routing, Names tokens, Names out);

/// y [slot, rest...], weights [tokens..., choice] -> [tokens..., rest...]: the sum over a token's visits, in
/// the order of its choices, of weight times result; added in fp32. `out`: the result's axes in this order.
Array combine(const Operand& y, const Operand& weights, const Routing& routing, Names out);

}  // namespace bora::core
