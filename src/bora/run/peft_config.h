// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// adapter_config.json: which linear maps have adapters, and what these are.
#pragma once
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/nn/linear_map.h"
#include "bora/run/module_names.h"

namespace bora::run {

/// The adapters that an adapter_config.json, called `path` in errors, gives the maps of a model. Names are
/// those of the Hugging Face layout, compared as PEFT does: whole, or what stands behind a dot; a single text
/// is a regular expression of a whole name. Errors: Unsupported and Corruption, all problems at once.
///
/// fan_in_fan_out is not asked: it tells PEFT how the model's own weight lies on disk, which Bora knows, and
/// an adapter's tensors are the same either way.
std::vector<nn::NewAdapter> adapters_of_peft(const Json& config, const std::vector<NamedMap>& maps,
                                             const std::string& path);

/// The adapter_config.json of maps, some of which have adapters. `transposed`: a weight of theirs is stored
/// (in, out), which PEFT calls fan_in_fan_out.
Json peft_config(const std::vector<NamedMap>& maps, const std::string& base, bool transposed);

}  // namespace bora::run
