// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The way of the tokens of a mixture of experts to those that they choose, and back.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// A slot is a visit of one token to one expert. Slots are sorted by expert, those of an expert in the order
/// of the tokens. Nothing is dropped: there are as many slots as choices, and on a device further ones behind those of each
/// expert that nobody visits (ExpertMaps).
struct Routing {
  Array place;  ///< i32 [tokens..., choice]: the slot of each visit
  /// i32 [expert, part]: visits of each expert. One part, or one for each row of a batch that is computed
  /// apart (rows_apart.h): those of an expert follow each other. In host memory, or on the device where `pads` are.
  Array rows;
  /// What grouped_linear takes: `rows`, or, i32 [expert] on the device, where the slots of each expert end.
  Array groups;
  Array visits = {}, pads = {};  ///< of slots that nobody visits: the visit of each slot, and which these are
};

/// What experts do with their slots, as far as it decides whether one product of a device computes all of them
/// (grouped_linear), so that the host need not wait for the numbers of rows.
struct ExpertMaps {
  DType dtype = DType::f32;
  std::vector<std::int64_t> widths = {};  ///< all sizes of their maps
  std::string_view expert = {};           ///< the axis that with_own_experts is given
};

/// choices: whole numbers [tokens..., choice], the experts that each token visits. InvalidArgument for one
/// outside of [0, experts), on a device only where the host waits. Not differentiated. Without `maps`, or where a device
/// cannot compute them so, which a line says once for each reason, the host knows the numbers of rows.
Routing route(const Operand& choices, std::int64_t experts, const ExpertMaps* maps = nullptr);

/// x [tokens..., rest...] -> [slot, rest...]: each visit with its token's elements. `tokens`: the axes of
/// Routing::place but the last. `out`: the result's axes, the slots' first, the others in x's order.
Array dispatch(const Operand& x, const Routing& routing, Names tokens, Names out);

/// y [slot, rest...], weights [tokens..., choice] -> [tokens..., rest...]: the sum over a token's visits, in
/// the order of its choices, of weight times result; added in fp32. `out`: the result's axes in this order.
Array combine(const Operand& y, const Operand& weights, const Routing& routing, Names out);

}  // namespace bora::core
