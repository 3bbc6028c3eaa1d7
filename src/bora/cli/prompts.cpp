// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/prompts.h"

#include <fmt/core.h>

#include <string_view>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"

namespace bora::cli {
namespace {

void require_utf8(std::string_view line, const std::string& place) {
  if (const auto byte = invalid_utf8(line))
    fail(ErrorKind::Corruption, "{}: byte {} of the line is not UTF-8\nhint: iconv -t UTF-8 converts it",
         place, *byte + 1);
}

}  // namespace

void require_utf8_prompt(std::string_view prompt, std::string_view command) {
  if (const auto byte = invalid_utf8(prompt))
    fail(
        ErrorKind::Usage,
        "{}: byte {} of the prompt is not UTF-8\nhint: a terminal, or a file, in UTF-8: iconv -t UTF-8 converts it",
        command, *byte + 1);
}

namespace {

std::string names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return join(names);
}

std::string prompt_of(std::string_view line, bool json, const std::string& place) {
  if (!json) return std::string(line);
  const auto object = parse_json(line, place);
  if (!object.is_object())
    fail(ErrorKind::Corruption, "{}: should be an object with a \"prompt\" but is {}", place,
         std::string_view(object.type_name()));
  if (!object.contains("prompt"))
    fail(ErrorKind::Corruption, "{}: no \"prompt\"; the object has {}\nhint: each line is one such as {}",
         place, object.empty() ? "nothing" : names_in(object), R"({"prompt": "Once upon a time"})");
  return json_get<std::string>(object, "prompt", place);
}

}  // namespace

std::vector<Prompt> read_prompts(const std::string& path) {
  std::vector<Prompt> out;
  std::int64_t number = 0;
  if (const auto there = files().info(path); there && there->is_directory)
    fail(ErrorKind::Usage, "generate: --prompts {} is a folder, not a file\nhint: name a file in it", path);
  for (std::string_view line : split(read_text(path), '\n')) {
    const auto place = fmt::format("{}:{}", path, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) continue;
    require_utf8(line, place);
    out.push_back({prompt_of(line, path.ends_with(".jsonl"), place), place});
  }
  if (out.empty())
    fail(ErrorKind::Corruption,
         "{}: holds no prompt\nhint: one a line, or {{\"prompt\": ...}} a line in a .jsonl file", path);
  return out;
}

}  // namespace bora::cli
