// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/run/launch.h"

namespace bora::cli {

/// The command line of `bora launch`. Usage error for what makes no sense together.
run::LaunchArguments parse_launch_arguments(const std::vector<std::string>& arguments);

}  // namespace bora::cli
