// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bora::cli {

struct Prompt {
  std::string text;
  std::string place;  ///< "prompts.txt:3", for errors; empty for that of a command line
};

/// The prompts of a file: one a line, or of each line of a .jsonl file what its key "prompt" says. Blank
/// lines are none. Errors: NotFound; Corruption for text that is not UTF-8, for lines that are no JSON objects
/// with a prompt, and for a file without a prompt.
std::vector<Prompt> read_prompts(const std::string& path);

/// Usage error, in the name of a command, for bytes that are not UTF-8.
void require_utf8_prompt(std::string_view prompt, std::string_view command);

}  // namespace bora::cli
