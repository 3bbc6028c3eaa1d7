// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What llama.cpp says of byte-level BPE.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::run {

/// Kinds of tokens.
inline constexpr std::int32_t kGgufNormal = 1, kGgufUnknown = 2, kGgufControl = 3, kGgufUserDefined = 4,
                              kGgufUnused = 5;

/// Parts of tokenizer.json, as JSON text.
struct GgufSplitRule {
  std::string pre_tokenizer, normalizer;
  bool whole_words_first =
      false;  ///< a piece that is a token is not merged; such texts begin with a token, too
};
/// What tokenizer.ggml.pre stands for; nothing for other names.
std::optional<GgufSplitRule> gguf_split_rule(std::string_view name);
/// "gpt-2, llama-bpe, ..."
std::string gguf_split_names();

}  // namespace bora::run
