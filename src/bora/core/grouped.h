// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Linear maps of which each row of the input has one of several.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// x [slot, in...], its rows grouped by expert: `rows` (Routing::groups) says how many each
/// has, i32 [expert, part], or on a device where they end, i32 [expert]; weight [expert, out..., in...] in any order but for the expert, which is first; bias [expert, out...]
/// or empty. The result [slot, out...], `out` in any order, is what each expert's own linear map gives for
/// its rows: each product has the bits that it would have alone, for any number of threads. Experts without
/// rows have gradients of 0. Of ends one product of the device computes all (bf16, of which gradients of weights are then
/// rounded to bf16 too), and the host does not wait.
Array grouped_linear(const Operand& x, const Array& rows, const Operand& weight, const Array& bias,
                     Names out);

/// What `body` makes of slots where experts lie on several ranks.
using ExpertBody = std::function<Array(const Array& x, const Array& rows, std::span<const Array> parameters)>;

/// body(x, rows, parameters) for x [slot, in...], rows as in grouped_linear and parameters [expert, ...]; the
/// result is [slot, out...]. The body must name the experts' axis otherwise, since no mesh axis is to serve it
/// there. Where a mesh axis serves `expert`:
/// - If its ranks compute different lanes (MeshAxis::own_lanes), each sends every slot to the rank that has its
///   expert, which calls the body once for each rank, with what came from that one, and sends results back
///   (all-to-all). The gradients of parameters are the sum over the ranks' lanes, in pairs.
/// - If its ranks compute a lane together, each calls the body with its own experts and their slots alone, a run of
///   all, and then all get all results. Where a rank's own experts cannot be had (another axis of the operands is
///   on the same mesh axis) each computes all.
/// What travels are copies, and each product is as large as on one rank: values and gradients have its bits.
Array with_own_experts(const Operand& x, const Array& rows, std::string_view expert,
                       std::span<const Operand> parameters, const ExpertBody& body);

}  // namespace bora::core
