// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

#include "bora/base/config_node.h"

namespace bora::config {

/// Parses a file, with its includes. Errors as ConfigTree::merge_file.
Node parse_yaml_file(const std::string& path);
/// Parses text that is called `name` in messages; `!include` is relative to `folder`.
Node parse_yaml(std::string_view text, const std::string& name, const std::string& folder);
/// Parses the value of a command-line override: places have no line.
Node parse_yaml_value(std::string_view text, const std::string& name);

}  // namespace bora::config
