// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/run/lm_config.h"

namespace bora::run {

/// Keys that were given and change nothing beside the others, a sentence each.
std::vector<std::string> idle_keys(const LoadedConfig& loaded);

}  // namespace bora::run
