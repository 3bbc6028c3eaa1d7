// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <vector>

#include "bora/core/step_graph.h"
#include "bora/data/loader.h"
#include "bora/mesh/metric_sums.h"
#include "bora/nn/language_model_interface.h"

namespace bora::train {

/// Sequences [first, first + count) of a batch as arrays. InvalidArgument for a batch without its targets.
nn::TokenBatch token_batch(const data::Batch& batch, std::int64_t first, std::int64_t count);

/// The same as what a pass is given (its key left out), and back.
core::PassInputs pass_inputs(const nn::TokenBatch& batch);
nn::TokenBatch token_batch(const core::PassInputs& inputs);

/// For a lane: nothing is read yet.
std::vector<mesh::LaneMetric> lane_metrics(const std::vector<nn::NamedSum>& metrics);

}  // namespace bora::train
