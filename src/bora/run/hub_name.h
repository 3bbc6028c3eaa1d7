// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models and tokenizers by their names on the Hugging Face hub.
#pragma once
#include <string>

#include "bora/store/hub.h"

namespace bora::run {

/// Whether a model or tokenizer that is called so comes from the hub: "meta-llama/Llama-2-7b-hf", "gpt2", with
/// "@revision" behind it or not. What exists here is a path, and so is anything
/// in a folder that exists, or in runs.
bool is_on_hub(const std::string& name);

/// The folder or file of a model or tokenizer: `name` itself, or where fetch_from_hub puts what is on the hub,
/// whose errors it has.
std::string local_path(const std::string& name, store::HubFiles files);

}  // namespace bora::run
