// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Loads no tensor library.
#pragma once
#include <string>

#include "bora/base/json.h"

namespace bora::checkpoint {

/// config.json of a directory, of a model with images too (gemma3) the part for text, or what stands for it in a checkpoint of mesh-transformer-jax. Errors: NotFound naming what a model directory must hold.
Json read_hf_config(const std::string& directory);

}  // namespace bora::checkpoint
