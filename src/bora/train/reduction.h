// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/sharded_parameters.h"

namespace bora::train {

/// What adds up the gradients of a run: `reduction` is trainer.reduction, `workers` those that compute
/// different lanes, `parameters` those of the model, and `sharded` where they lie in shards on the workers
/// (null: whole on each). Config error for "fast" with shards. Collective.
std::unique_ptr<mesh::GradientReducer> make_reducer(std::string_view reduction,
                                                    std::shared_ptr<mesh::Communicator> workers,
                                                    const std::vector<core::Parameter>& parameters,
                                                    mesh::ShardedParameters* sharded);

}  // namespace bora::train
