// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/chat_templates.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora {
namespace {

constexpr std::string_view kFile = "chat_template.jinja", kFolder = "additional_chat_templates",
                           kSuffix = ".jinja";

/// Each template may become a file of its name.
void add(ChatTemplates& templates, const std::string& name, std::string text, const std::string& where) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos) {
    fail(ErrorKind::Corruption, "{}: chat_template has one named \"{}\", which is no name of a file", where,
         name);
  }
  templates[name] = std::move(text);
}

}  // namespace

ChatTemplates chat_templates_of(const Json& tokenizer_config, const std::string& name) {
  ChatTemplates out;
  const auto found = tokenizer_config.find("chat_template");
  if (found == tokenizer_config.end() || found->is_null()) return out;
  if (found->is_string()) return {{std::string(kDefaultTemplate), found->get<std::string>()}};
  if (!found->is_array()) {
    fail(ErrorKind::Corruption, "{}: chat_template should be a text or a list but is {}", name,
         found->type_name());
  }
  for (const Json& entry : *found) {
    add(out, json_get<std::string>(entry, "name", name), json_get<std::string>(entry, "template", name),
        name);
  }
  return out;
}

ChatTemplates read_chat_templates(const std::string& directory) {
  ChatTemplates out;
  const std::string alone = path_join(directory, kFile), folder = path_join(directory, kFolder);
  const auto info = files().info(folder);
  if (info && info->is_directory) {
    for (const auto& file : files().list(folder)) {
      if (!file.ends_with(kSuffix) || file.front() == '.') continue;
      out[file.substr(0, file.size() - kSuffix.size())] = read_text(path_join(folder, file));
    }
  }
  if (exists(alone)) out[std::string(kDefaultTemplate)] = read_text(alone);
  return out;
}

std::vector<std::pair<std::string, std::string>> chat_template_files(const ChatTemplates& templates) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, text] : templates) {
    const bool alone = name == kDefaultTemplate;
    out.emplace_back(alone ? std::string(kFile) : fmt::format("{}/{}{}", kFolder, name, kSuffix), text);
  }
  return out;
}

}  // namespace bora
