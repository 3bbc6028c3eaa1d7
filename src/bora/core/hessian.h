// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// H·v, where H is the matrix of second derivatives of a scalar function of some parameters.
struct HessianProduct {
  Array value;                   ///< what `f` returned
  std::vector<Array> gradients;  ///< first derivatives: one for each parameter, zeros where f does not depend
  std::vector<Array> products;   ///< H·v, likewise
};

/// Differentiates f twice, in the ops of plain_ops.h: nothing is computed again (gradient checkpointing does
/// not count), and attention forms its scores, so the memory of a step is several times the usual. Errors:
/// InvalidArgument unless `v` has the sizes and element types of the parameters; Unsupported where a
/// derivative cannot be taken twice: inside another differentiated function, in operations that exchange
/// values with other ranks, and with sharded parameters.
HessianProduct hessian_vector_product(std::span<Array* const> parameters, const std::function<Array()>& f,
                                      std::span<const Array> v);

}  // namespace bora::core
