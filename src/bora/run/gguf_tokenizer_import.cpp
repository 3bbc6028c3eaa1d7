// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/run/gguf_import.h"
#include "bora/run/gguf_tokenizer.h"
#include "bora/run/gguf_words.h"

namespace bora::run {
namespace {

class ByteLevel {
 public:
  explicit ByteLevel(const GgufWords& words) : words_(words), tokens_(words.texts("tokens")) {
    static constexpr std::array kKinds = {kGgufNormal, kGgufUnknown, kGgufControl, kGgufUserDefined,
                                          kGgufUnused};
    types_ = words.types(tokens_, kKinds, "byte-level BPE");
  }

  std::string json() const {
    const auto rule = gguf_split_rule(pre());
    if (!rule)
      words_.refuse(fmt::format("tokenizer.ggml.pre is {}; {} are read",
                                GgufWords::shown(*words_.value("pre")), gguf_split_names()));
    const auto behind = first_behind();
    std::string vocab, added, merges;
    const auto next = [](std::string& list) { return list.empty() ? "" : ","; };
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is_padding(i)) continue;
      const auto text = words_.quoted(tokens_[i], "token", i);
      if (!is_added(i) || i < behind) vocab += fmt::format("{}{}:{}", next(vocab), text, i);
      if (is_added(i))
        added += fmt::format(
            R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
            R"("special":{}}})",
            next(added), i, text, types_[i] != kGgufUserDefined);
    }
    const auto pairs = words_.texts("merges");
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto space = pairs[i].find(' ', 1);
      if (space == std::string::npos)
        words_.wrong(fmt::format("merges has {} at {}, but must be pairs", GgufWords::shown(pairs[i]), i));
      merges += fmt::format("{}[{},{}]", next(merges), words_.quoted(pairs[i].substr(0, space), "merge", i),
                            words_.quoted(pairs[i].substr(space + 1), "merge", i));
    }
    return fmt::format(
        R"({{"version":"1.0","added_tokens":[{}],"normalizer":{},"pre_tokenizer":{},"post_processor":{},)"
        R"("decoder":{{"type":"ByteLevel"}},"model":{{"type":"BPE","ignore_merges":{},"vocab":{{{}}},)"
        R"("merges":[{}]}}}})",
        added, rule->normalizer, rule->pre_tokenizer, around(rule->whole_words_first),
        rule->whole_words_first, vocab, merges);
  }

 private:
  bool is_added(std::size_t i) const {
    return types_[i] == kGgufControl || types_[i] == kGgufUserDefined || types_[i] == kGgufUnknown;
  }
  // Rows that no id names.
  bool is_padding(std::size_t i) const {
    return types_[i] == kGgufUnused && tokens_[i] == gguf_padding(static_cast<std::int64_t>(i));
  }
  // Added tokens from here on are not in the vocabulary: `tokenizers` numbers these by their order, behind all
  // others. The rest would get other ids.
  std::size_t first_behind() const {
    std::size_t used = tokens_.size();
    while (used > 0 && is_padding(used - 1)) --used;
    for (std::size_t i = 0; i < used; ++i)
      if (is_padding(i)) return used;
    while (used > 0 && is_added(used - 1)) --used;
    return used;
  }

  std::string pre() const {
    const auto* given = words_.value("pre");
    if (given == nullptr || !given->is_string())
      words_.refuse("tokenizer.ggml.pre is missing, so that nobody knows how texts are split before merges");
    return given->get<std::string>();
  }

  // As trained tokenizers say it: what comes back is known as the same.
  std::string around(bool begins) const {
    return words_.around(
        tokens_, words_.frame(begins),
        R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})");
  }

  const GgufWords& words_;
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> types_;
};

std::string config_of(const GgufWords& words, const std::vector<std::string>& tokens) {
  Json out = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  const auto name = [&](const char* key, std::optional<std::size_t> id) {
    if (id && *id < tokens.size()) out[key] = tokens[*id];
  };
  name("bos_token", words.id("bos_token_id", GgufWords::kUsualBegin));
  name("eos_token", words.id("eos_token_id", GgufWords::kUsualEnd));
  name("pad_token", words.id("padding_token_id"));
  if (*words.value("model") == "llama") name("unk_token", words.id("unknown_token_id"));
  if (const auto* text = words.file().value("tokenizer.chat_template"); text != nullptr && text->is_string())
    out["chat_template"] = *text;
  return out.dump();
}

}  // namespace

std::optional<Tokenizer> tokenizer_of_gguf(const checkpoint::GgufFile& file) {
  const GgufWords words(file);
  const auto* model = words.value("model");
  if (model == nullptr) return std::nullopt;
  if (*model != "gpt2" && *model != "llama")
    words.refuse(
        fmt::format("tokenizer.ggml.model is {}; gpt2, byte-level BPE, and llama, BPE by scores, are read",
                    GgufWords::shown(*model)));
  const auto config = config_of(words, words.texts("tokens"));
  if (*model == "llama") return sentencepiece_of_gguf(words, config);
  return Tokenizer::from_json(ByteLevel(words).json(), config, file.path());
}

Json generation_of_gguf(const checkpoint::GgufFile& file) {
  Json out = Json::object();
  const GgufWords words(file);
  if (const auto id = words.id("bos_token_id", GgufWords::kUsualBegin)) out["bos_token_id"] = *id;
  Json ends = Json::array();
  for (const auto& id : {words.id("eos_token_id", GgufWords::kUsualEnd), words.id("eot_token_id")})
    if (id && std::find(ends.begin(), ends.end(), Json(*id)) == ends.end()) ends.push_back(*id);
  if (!ends.empty()) out["eos_token_id"] = ends.size() == 1 ? ends[0] : ends;
  if (const auto id = words.id("padding_token_id")) out["pad_token_id"] = *id;
  return out;
}

}  // namespace bora::run
