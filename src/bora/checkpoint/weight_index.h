// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Loads no tensor library.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace bora::checkpoint {

/// Which shard each tensor is said to be in, in the order of model.safetensors.index.json: plain names of
/// .safetensors files that are there, beside it. Errors: Corruption, or NotFound with all shards that are
/// missing.
std::vector<std::pair<std::string, std::string>> read_weight_index(const std::string& path);

}  // namespace bora::checkpoint
