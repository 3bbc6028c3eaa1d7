// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the conversions of the rule table on plain tensors, each with its backward pass.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// What one worker does to a tensor to get it as an op needs it.
enum class Convert {
  lift,      ///< replicated, used beside an axis it lacks: nothing; back: sum
  sum,       ///< partial to replicated: sum; back: nothing
  sum_lift,  ///< partial to replicated, used beside an axis it lacks: sum; back: sum
  gather,    ///< shards to replicated, used beside another axis: all-gather; back: reduce-scatter
  collect,   ///< shards to replicated, which all compute alike: all-gather; back: the own shard
  scatter,   ///< partial to shards: reduce-scatter; back: all-gather
  slice,     ///< replicated to shards: the own shard; back: all-gather
};

at::Tensor convert(const at::Tensor& x, Convert how, std::int64_t dim, Collectives& workers);

/// x once for each lane, in `type` if given; their gradients are added in pairs, in x's own type.
std::vector<at::Tensor> fan(const at::Tensor& x, int lanes, std::optional<at::ScalarType> type = {});

/// ((0 + 1) + (2 + 3)) + ...
at::Tensor sum_of_lanes(std::vector<at::Tensor> lanes);

/// Sum or greatest over the workers; not recorded.
at::Tensor reduced(const at::Tensor& x, Collectives::Combine combine, Collectives& workers);

}  // namespace bora::core::autograd
