// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/mesh/communicator.h"

namespace bora::train {

/// The first parameter whose array has a value that is NaN or infinite, on any worker: its path, and the
/// element where one worker has all of it ("embeddings (element 5)"). Nothing if all values are finite.
/// `arrays`: fp32, one for each parameter: its values or its gradient, or this worker's shard of either;
/// empty ones count as finite. Collective over `workers`; all get the same answer.
std::optional<std::string> first_non_finite(std::span<const core::Parameter> parameters,
                                            std::span<const core::Array> arrays, mesh::Communicator& workers);
/// The same of the parameters' values.
std::optional<std::string> first_non_finite(std::span<const core::Parameter> parameters,
                                            mesh::Communicator& workers);

}  // namespace bora::train
