// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora::run {

/// To be put behind the name of a model or tokenizer that is not here: where it looks like one on the Hugging
/// Face hub ("gpt2", "meta-llama/Llama-2-7b-hf"), that the hub is not reached, and what to do. Else "".
std::string hub_words(const std::string& name);

}  // namespace bora::run
