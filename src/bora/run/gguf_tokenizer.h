// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What llama.cpp says of tokenizers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_writer.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// Kinds of tokens.
inline constexpr std::int32_t kGgufNormal = 1, kGgufUnknown = 2, kGgufControl = 3, kGgufUserDefined = 4,
                              kGgufUnused = 5, kGgufByte = 6;

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

/// Keys of Bora's own, which llama.cpp passes over: what it does otherwise, and what comes back by them.
inline constexpr std::string_view kGgufPrependScheme = "bora.tokenizer.prepend_scheme";  ///< of Metaspace
inline constexpr std::string_view kGgufNormalizedIds =
    "bora.tokenizer.normalized_ids";  ///< of added tokens that are found in normalized text
inline constexpr std::string_view kGgufAddedIds =
    "bora.tokenizer.added_ids";  ///< of added tokens that are spaces, which llama.cpp makes like others

/// What a file says of a tokenizer.
struct GgufTokenizer {
  std::vector<std::pair<std::string, checkpoint::GgufValue>> metadata;
  bool is_phi3 = false;            ///< special tokens take the white space behind them: Phi-3's do
  std::vector<std::string> notes;  ///< texts that llama.cpp cuts otherwise
};

/// `rows` tokens, as many as the model has embeddings. Unsupported, by name, for a tokenizer that llama.cpp does
/// not have.
GgufTokenizer gguf_tokenizer(const Tokenizer& tokenizer, const Json& generation, std::int64_t rows);

/// "gpt2" is byte-level BPE; this is "llama", BPE over characters with ▁ for spaces and bytes for the rest.
/// `json`: tokenizer.json.
bool is_sentencepiece_like(const Json& json);
GgufTokenizer gguf_sentencepiece(const Tokenizer& tokenizer, const Json& json, std::int64_t rows);

/// The name of a token that no id has.
std::string gguf_padding(std::int64_t id);
/// Of Phi-3's special tokens, whether this one takes the white space behind it.
bool gguf_phi3_strips(std::string_view token);
/// "<0x0A>"
std::string gguf_byte(int byte);

/// Unsupported: "the tokenizer's `what`, which llama.cpp does not have", with the other layout as a hint.
[[noreturn]] void refuse_gguf_tokenizer(const std::string& what);

}  // namespace bora::run
