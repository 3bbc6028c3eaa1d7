// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <span>
#include <vector>

#include "bora/core/mapping.h"

namespace bora::mesh {

/// Workers who hold blocks of some arrays.
struct BlockHolders {
  core::Collectives* workers;
  std::vector<bool> cut;  ///< by array: each worker has a block of its own; else all have the same
};

/// Sum of the squares of each array's elements, those of the blocks of all holders, with the bits that one
/// worker with all of them gets (kernels/square_sum.h); not finite where an element is not. An empty array
/// counts as nothing. Collective.
std::vector<double> sums_of_squares(std::span<const core::Array> arrays,
                                    std::span<const BlockHolders> holders);

}  // namespace bora::mesh
