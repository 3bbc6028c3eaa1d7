// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <set>
#include <string_view>

#include "bora/base/error.h"
#include "bora/run/generation_config.h"
#include "bora/run/gguf_export.h"
#include "bora/run/gguf_tokenizer.h"

namespace bora::run {
namespace {

constexpr std::string_view kLetters = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
constexpr std::string_view kRest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The regular expression of Llama 3 and of Qwen2.
std::string expression(bool llama) { return fmt::format("{}{}{}", kLetters, llama ? "{1,3}" : "", kRest); }

// That of GPT-4o and GPT-OSS: words are in lower case behind their first letters, or in upper case.
std::string gpt4o_expression() {
  constexpr std::string_view kUpper = R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})",
                             kLower = R"(\p{Ll}\p{Lm}\p{Lo}\p{M})", kBefore = R"([^\r\n\p{L}\p{N}]?)",
                             kAfter = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";
  return fmt::format(
      R"({0}[{1}]*[{2}]+{3}|{0}[{1}]+[{2}]*{3}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+)"
      R"(|\s+(?!\S)|\s+)",
      kBefore, kUpper, kLower, kAfter);
}

// llama.cpp's name for how a text is split before merges, told by the rule itself.
std::string split_name(const Json& rule) {
  const auto type = rule.is_object() ? rule.value("type", "") : "";
  if (type == "ByteLevel" && rule.value("use_regex", true)) {
    if (rule.value("add_prefix_space", false))
      refuse_gguf_tokenizer("pre_tokenizer adds a space in front (add_prefix_space)");
    return "gpt-2";
  }
  const bool two = type == "Sequence" && rule.contains("pretokenizers") && rule["pretokenizers"].size() == 2;
  if (two) {
    const auto& split = rule["pretokenizers"][0];
    const auto& bytes = rule["pretokenizers"][1];
    const bool plain = bytes.value("type", "") == "ByteLevel" && !bytes.value("use_regex", true) &&
                       !bytes.value("add_prefix_space", false);
    if (plain && split.value("type", "") == "Split" && split.contains("pattern")) {
      const auto pattern = split["pattern"].value("Regex", "");
      if (pattern == expression(true)) return "llama-bpe";
      if (pattern == expression(false)) return "qwen2";
      if (pattern == gpt4o_expression()) return "gpt-4o";
    }
  }
  refuse_gguf_tokenizer("pre_tokenizer is " + rule.dump());
}

std::vector<std::string> merges_of(const Json& model) {
  std::vector<std::string> out;
  for (const auto& merge : model["merges"]) {
    out.push_back(merge.is_string() ? merge.get<std::string>()
                                    : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  return out;
}

void require_bpe(const Json& json) {
  const auto& model = json["model"];
  if (model.value("type", "BPE") != "BPE" || model.value("byte_fallback", false))
    refuse_gguf_tokenizer(fmt::format("model is {}{}", model.value("type", "BPE"),
                                      model.value("byte_fallback", false) ? " with byte_fallback" : ""));
  if (json.contains("normalizer") && !json["normalizer"].is_null()) {
    const auto type = json["normalizer"].value("type", "");
    if (type != "NFC")
      refuse_gguf_tokenizer("normalizer is " + json["normalizer"].dump());  // Qwen's; skipped there too
  }
}

std::string text_of(const Tokenizer& tokenizer, std::string_view file) {
  for (auto& [name, text] : tokenizer.files())
    if (name == file) return text;
  fail(ErrorKind::InvalidArgument, "the tokenizer has no {}", file);
}

}  // namespace

std::optional<GgufSplitRule> gguf_split_rule(std::string_view name) {
  const bool llama = name == "llama-bpe" || name == "llama3" || name == "llama-v3";
  if (name == "gpt-2" || name == "phi-2" || name == "olmo")
    return GgufSplitRule{
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})", "null"};
  const bool gpt4o = name == "gpt-4o";
  if (!llama && !gpt4o && name != "qwen2" && name != "deepseek-r1-qwen") return std::nullopt;
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", gpt4o ? gpt4o_expression() : expression(llama)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  return GgufSplitRule{Json{{"type", "Sequence"}, {"pretokenizers", Json::array({split, bytes})}}.dump(),
                       llama || gpt4o ? "null" : R"({"type":"NFC"})", llama};
}

std::string gguf_split_names() {
  return "gpt-2, phi-2, olmo, llama-bpe, llama3, llama-v3, qwen2, deepseek-r1-qwen, gpt-4o";
}

[[noreturn]] void refuse_gguf_tokenizer(const std::string& what) {
  fail(
      ErrorKind::Unsupported,
      "GGUF: the tokenizer's {}, which llama.cpp does not have\nhint: bora export without --format gguf writes "
      "the Hugging Face layout",
      what);
}

std::string gguf_padding(std::int64_t id) { return fmt::format("[PAD{}]", id); }

namespace {

GgufTokenizer byte_level(const Tokenizer& tokenizer, const Json& json, std::int64_t rows) {
  require_bpe(json);
  std::set<std::int64_t> added;
  if (json.contains("added_tokens"))
    for (const auto& token : json["added_tokens"]) added.insert(token["id"].get<std::int64_t>());
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const auto token = tokenizer.token(id);
    tokens.push_back(token ? *token : gguf_padding(i));
    types.push_back(!token                     ? kGgufUnused
                    : tokenizer.is_special(id) ? kGgufControl
                    : added.contains(i)        ? kGgufUserDefined
                                               : kGgufNormal);
  }
  const auto ids = tokenizer.encode("a", true).ids;
  const bool begins = tokenizer.bos_id() && !ids.empty() && ids.front() == *tokenizer.bos_id();
  return {.metadata = {{"tokenizer.ggml.model", std::string("gpt2")},
                       {"tokenizer.ggml.pre", split_name(json["pre_tokenizer"])},
                       {"tokenizer.ggml.tokens", std::move(tokens)},
                       {"tokenizer.ggml.token_type", std::move(types)},
                       {"tokenizer.ggml.merges", merges_of(json["model"])},
                       {"tokenizer.ggml.add_bos_token", begins},
                       {"tokenizer.ggml.add_eos_token", false}}};
}

}  // namespace

GgufTokenizer gguf_tokenizer(const Tokenizer& tokenizer, const Json& generation, std::int64_t rows) {
  const Json json = parse_json(text_of(tokenizer, "tokenizer.json"), "tokenizer.json");
  auto out = is_sentencepiece_like(json) ? gguf_sentencepiece(tokenizer, json, rows)
                                         : byte_level(tokenizer, json, rows);
  const auto add_id = [&](const char* key, std::optional<std::int32_t> id) {
    if (id) out.metadata.emplace_back(key, static_cast<std::uint32_t>(*id));
  };
  const auto ends = stop_ids(generation);
  if (ends.empty() && !tokenizer.eos_id() && is_sentencepiece_like(json) && rows > 2)
    refuse_gguf_tokenizer(fmt::format("end has no name, without which token 2, {}, ends texts",
                                      Json(tokenizer.token(2).value_or(gguf_padding(2))).dump()));
  add_id("tokenizer.ggml.bos_token_id", tokenizer.bos_id());
  add_id("tokenizer.ggml.eos_token_id", ends.empty() ? tokenizer.eos_id() : std::optional(ends.front()));
  add_id("tokenizer.ggml.padding_token_id", tokenizer.pad_id());
  for (const auto& [name, text] : tokenizer.files())
    if (name == "chat_template.jinja") out.metadata.emplace_back("tokenizer.chat_template", text);
  return out;
}

}  // namespace bora::run
