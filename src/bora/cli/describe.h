// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

namespace bora::cli {

/// One configuration key as the program knows it: every key of every type.
struct DescribedKey {
  std::string section;  ///< "trainer", or of one type alone "model, type: gpt2"
  std::string key;      ///< "data.configs.<name>.train_urls", "trainer.tracker[].logdir"
  std::string type;     ///< "integer, at least 1"
  std::string value;    ///< the default, as YAML; "" where there is none
  std::string doc;      ///< beginning with kNotUsed where it has no effect
};
inline constexpr const char* kNotUsed = "not used: ";
std::vector<DescribedKey> described_keys();

/// Keys at the top of a configuration that are read, whether they are described or have newer names.
std::vector<std::string> top_keys();

/// `bora --describe config` and `bora --describe environment`: Markdown tables of every configuration key and
/// of every environment variable, from which scripts/config_page.sh and scripts/commands_page.sh make the
/// pages of docs/reference. Not shown by --help. Anything else is a Usage error.
int describe(const std::vector<std::string>& arguments);

}  // namespace bora::cli
