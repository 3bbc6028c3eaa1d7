// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/tokenize/tokenizer.h"

namespace bora {

/// What a tiktoken file leaves to the program that reads it.
struct TiktokenRules {
  std::string pattern;  ///< a regex whose matches are the pieces
  bool nfc = false;     ///< texts are normalized first (Qwen)
  std::vector<std::pair<std::string, std::int32_t>> special_tokens;
};

/// A file of tiktoken ranks with rules of its own; Tokenizer::load knows the rules of files with the 50,256,
/// 50,280, 100,256 or 199,998 ranks of OpenAI's r50k, p50k, cl100k and o200k, the 151,643 of Qwen and the
/// 128,000 of Llama 3. Errors: Corruption, with the line.
Tokenizer load_tiktoken(const std::string& path, const TiktokenRules& rules);

namespace tokenize {

/// True if the first line is "BASE64 RANK".
bool is_rank_file(std::string_view bytes);

/// Errors: Corruption; Unsupported for a number of ranks that is nobody's.
std::shared_ptr<Pipeline> read_rank_file(const std::string& path);

}  // namespace tokenize
}  // namespace bora
