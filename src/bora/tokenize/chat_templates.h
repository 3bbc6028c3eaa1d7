// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/json.h"

namespace bora {

/// The chat templates of a tokenizer by name, as Jinja. "default" is the one that counts unless another is
/// asked for; "tool_use", where there is one, counts for conversations with tools.
using ChatTemplates = std::map<std::string, std::string>;

inline constexpr std::string_view kDefaultTemplate = "default", kToolTemplate = "tool_use";

/// `chat_template` of a tokenizer_config.json: a text, or a list of {"name": ..., "template": ...}. `name`
/// stands for the file in errors. Errors: Corruption for anything else, and for a name that is no file name.
ChatTemplates chat_templates_of(const Json& tokenizer_config, const std::string& name);

/// The templates in files of `directory`, none of which need be there: chat_template.jinja, the default, and
/// additional_chat_templates/NAME.jinja. Where there is one, those of tokenizer_config.json do not count.
/// Source: `transformers` 5.23, which writes them so.
ChatTemplates read_chat_templates(const std::string& directory);

/// The same files: names, which may begin with a folder, and contents.
std::vector<std::pair<std::string, std::string>> chat_template_files(const ChatTemplates& templates);

}  // namespace bora
