// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// Gradient checkpointing (Chen et al. 2016): runs `f` on `inputs` without keeping its intermediate values,
/// and runs it again during the backward pass. Values and gradients have the same bits as f(inputs); random
/// keys are explicit, so dropout inside repeats itself. Parameters reached inside f get their gradients as
/// usual. What f makes leaves it by its result alone: a recorded operation on an array that f handed out
/// otherwise fails, because no gradient could reach it.
std::vector<Array> checkpoint(const std::function<std::vector<Array>(std::span<const Array>)>& f,
                              std::span<const Array> inputs);

}  // namespace bora::core
