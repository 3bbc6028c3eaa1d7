// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

namespace bora::cli {

/// `bora --describe config` and `bora --describe environment`: Markdown tables of every configuration key and
/// of every environment variable, from which scripts/config_page.sh and scripts/commands_page.sh make the
/// pages of docs/reference. Not shown by --help. Anything else is a Usage error.
int describe(const std::vector<std::string>& arguments);

}  // namespace bora::cli
