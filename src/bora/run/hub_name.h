// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models and tokenizers by their names on the Hugging Face hub.
#pragma once
#include <string>

#include "bora/data/config.h"
#include "bora/mesh/communicator.h"
#include "bora/store/hub.h"

namespace bora::run {

/// Whether a model or tokenizer that is called so comes from the hub: "meta-llama/Llama-2-7b-hf", "gpt2", with
/// "@revision" behind it or not. What exists here is a path, and so is anything
/// in a folder that exists, or in runs.
bool is_on_hub(const std::string& name);

/// The folder or file of a model or tokenizer: `name` itself, or where fetch_from_hub puts what is on the hub,
/// whose errors it has.
std::string local_path(const std::string& name, store::HubFiles files);

/// From here on all workers read the commits that the first one has met, which asks for those of the data sets.
/// Errors: Config where a worker has met another commit of the same branch already.
void agree_on_hub(const data::DataConfig& data, mesh::Communicator& workers);

}  // namespace bora::run
