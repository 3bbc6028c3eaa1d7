// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the keys of a mesh ask of a model, before any worker computes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/run/lm_config.h"
#include "bora/run/problem_list.h"

namespace bora::run {

/// Names of axes that the model has not: a warning each, since files of Levanter's name axes of several models. Where a
/// key names nothing else and nothing that other models have, it is a slip of the hand: a problem.
void look_at_axes(const LmConfig& config, std::int64_t vocab, ProblemList& problems,
                  std::vector<std::string>& warnings);

/// Weights of norms over each head, with trainer.tensor_lanes: their gradients are sums over heads, which operations
/// refuse in the same words. Config errors: those of resolve_mesh.
void look_at_tensor_lanes(const LmConfig& config, std::int64_t vocab, ProblemList& problems);

}  // namespace bora::run
