// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/base/json.h"

namespace bora::run {

/// What keeps a model of such a config.json from being exported, as a sentence; empty: nothing. Hugging Face and
/// llama.cpp would compute something else without a word.
std::string why_no_export(const Json& hf_config);

}  // namespace bora::run
