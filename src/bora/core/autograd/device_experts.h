// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: experts on a device whose rows the host does not count. Each expert has as many slots as it has rows,
// rounded up to a multiple of 8, at least 8, and the last one all that are left: whatever the counts, there are n + 8 · experts
// slots for n visits. Those that are no visit are 0 where slots are made, and nobody reads them.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "bora/core/autograd/factor.h"

namespace bora::core::autograd {

/// Why libtorch's product of groups (`_grouped_mm`) cannot be used for visits of `experts` on the device of `choices`, with
/// rows of `type` and maps of these sizes; empty if it can.
std::string_view why_no_grouped_product(const at::Tensor& choices, at::ScalarType type, std::int64_t experts,
                                        const std::vector<std::int64_t>& widths);

/// All on the device of the choices.
struct SlotPlan {
  at::Tensor place;   ///< i32, of the choices' sizes: the slot of each visit
  at::Tensor rows;    ///< i32 [expert]
  at::Tensor ends;    ///< i32 [expert]: the slot behind the last one of each
  at::Tensor visits;  ///< i32 [slot]: the visit of each, token · k + choice; some visit for one that has none
  at::Tensor pads;    ///< i64 [8 · expert]: the slots without a visit
};
/// Of choices [tokens..., choice], i32 or i64, in the order of plain::places: by the device's kernel, or by libtorch's ops.
SlotPlan plan_slots(const at::Tensor& choices, std::int64_t experts);

/// As dispatch and combine in slots.h; place [tokens, k].
at::Tensor padded_dispatch(const at::Tensor& x, const at::Tensor& place, const at::Tensor& visits,
                           const at::Tensor& pads);
at::Tensor padded_combine(const at::Tensor& y, const at::Tensor& weights, const at::Tensor& place,
                          const at::Tensor& visits, const at::Tensor& pads);

/// The expert of each of so many slots, i32.
at::Tensor owners_of_slots(const at::Tensor& ends, std::int64_t slots);

/// x [slots, in], weight [experts, out, in] -> [slots, out]. Where the op does not take them, a product for each expert, and
/// the host waits for `ends`.
at::Tensor grouped_by_ends(const at::Tensor& x, const Factor& weight, const at::Tensor& ends);

}  // namespace bora::core::autograd
