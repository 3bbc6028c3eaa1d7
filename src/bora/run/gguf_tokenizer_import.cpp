// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/run/gguf_import.h"
#include "bora/run/gguf_tokenizer.h"

namespace bora::run {
namespace {

class Words {
 public:
  explicit Words(const checkpoint::GgufFile& file) : file_(file) {}

  Tokenizer tokenizer() {
    require_model();
    tokens_ = texts("tokens");
    read_types();
    return Tokenizer::from_json(json(), config().dump(), file_.path());
  }

  const Json* value(const std::string& key) const { return file_.value("tokenizer.ggml." + key); }

  std::optional<std::size_t> id(const std::string& key) const {
    const auto* given = value(key);
    if (given == nullptr) return std::nullopt;
    const auto* tokens = value("tokens");
    const auto n = tokens != nullptr ? tokens->size() : 0;
    if (!given->is_number_integer() || *given < 0 || *given >= n)
      fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{} is {}, but there are {} tokens", file_.path(),
           key, shown(*given), n);
    return given->get<std::size_t>();
  }

 private:
  static std::string shown(const Json& value) {
    return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::Unsupported,
         "{}: GGUF: {}\nhint: import the Hugging Face directory of the model, which has the tokenizer itself",
         file_.path(), what);
  }

  void require_model() const {
    const auto& model = *value("model");
    if (model == "llama")
      refuse("tokenizer.ggml.model is \"llama\", a SentencePiece tokenizer; gpt2, byte-level BPE, is read");
    if (model != "gpt2")
      refuse(fmt::format("tokenizer.ggml.model is {}; gpt2, byte-level BPE, is read", shown(model)));
  }

  std::vector<std::string> texts(const std::string& key) const {
    const auto* given = value(key);
    std::vector<std::string> out;
    if (given == nullptr || !given->is_array())
      fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{} is {}, but must be a list of texts",
           file_.path(), key, given == nullptr ? "missing" : shown(*given));
    for (const auto& text : *given) {
      if (!text.is_string())
        fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{} has {} at {}, but must be a list of texts",
             file_.path(), key, shown(text), out.size());
      out.push_back(text.get<std::string>());
    }
    return out;
  }

  void read_types() {
    types_.assign(tokens_.size(), kGgufNormal);
    const auto* given = value("token_type");
    if (given == nullptr) return;
    if (!given->is_array() || given->size() != tokens_.size())
      fail(ErrorKind::Corruption,
           "{}: GGUF: tokenizer.ggml.token_type has {} entries, but there are {} tokens", file_.path(),
           given->size(), tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto& type = (*given)[i];
      const bool known = type == kGgufNormal || type == kGgufUnknown || type == kGgufControl ||
                         type == kGgufUserDefined || type == kGgufUnused;
      if (!known)
        refuse(fmt::format(
            "tokenizer.ggml.token_type is {} for token {} ({}), which byte-level BPE does not have",
            shown(type), i, shown(tokens_[i])));
      types_[i] = type.get<std::int32_t>();
    }
  }

  bool is_added(std::size_t i) const {
    return types_[i] == kGgufControl || types_[i] == kGgufUserDefined || types_[i] == kGgufUnknown;
  }
  // Rows that no id names.
  bool is_padding(std::size_t i) const {
    return types_[i] == kGgufUnused && tokens_[i] == fmt::format("[PAD{}]", i);
  }

  std::string quoted(const std::string& text, std::string_view what, std::size_t i) const {
    try {
      return Json(text).dump();
    } catch (const Json::exception&) {
      fail(ErrorKind::Corruption, "{}: GGUF: {} {} is no UTF-8: {}", file_.path(), what, i, shown(text));
    }
  }

  std::string pre() const {
    const auto* given = value("pre");
    if (given == nullptr || !given->is_string())
      refuse("tokenizer.ggml.pre is missing, so that nobody knows how texts are split before merges");
    return given->get<std::string>();
  }

  std::string json() const {
    const auto rule = gguf_split_rule(pre());
    if (!rule)
      refuse(fmt::format("tokenizer.ggml.pre is {}; {} are read", shown(*value("pre")), gguf_split_names()));
    std::string vocab, added, merges;
    const auto next = [](std::string& list) { return list.empty() ? "" : ","; };
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is_padding(i)) continue;
      const auto text = quoted(tokens_[i], "token", i);
      if (is_added(i))
        added += fmt::format(
            R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
            R"("special":{}}})",
            next(added), i, text, types_[i] != kGgufUserDefined);
      else
        vocab += fmt::format("{}{}:{}", next(vocab), text, i);
    }
    const auto pairs = texts("merges");
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto space = pairs[i].find(' ', 1);
      if (space == std::string::npos)
        fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.merges has {} at {}, but must be pairs",
             file_.path(), shown(pairs[i]), i);
      merges += fmt::format("{}[{},{}]", next(merges), quoted(pairs[i].substr(0, space), "merge", i),
                            quoted(pairs[i].substr(space + 1), "merge", i));
    }
    return fmt::format(
        R"({{"version":"1.0","added_tokens":[{}],"normalizer":{},"pre_tokenizer":{},"post_processor":{},)"
        R"("decoder":{{"type":"ByteLevel"}},"model":{{"type":"BPE","ignore_merges":{},"vocab":{{{}}},)"
        R"("merges":[{}]}}}})",
        added, rule->normalizer, rule->pre_tokenizer, around(), rule->whole_words_first, vocab, merges);
  }

  bool flag(const std::string& key, bool otherwise) const {
    const auto* given = value(key);
    if (given == nullptr) return otherwise;
    if (!given->is_boolean())
      fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{} is {}, but must be true or false",
           file_.path(), key, shown(*given));
    return given->get<bool>();
  }

  // The tokens that are put around a text.
  std::string around() const {
    Json single = Json::array(), special = Json::object();
    const auto add = [&](const char* id_key) {
      const auto token = id(id_key);
      if (!token)
        fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{} is missing, though texts get that token",
             file_.path(), id_key);
      const auto& text = tokens_[*token];
      single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
      special[text] = {{"id", text}, {"ids", {*token}}, {"tokens", {text}}};
    };
    const bool begins = flag("add_bos_token", gguf_split_rule(pre())->whole_words_first);
    const bool ends = flag("add_eos_token", false);
    if (!begins && !ends) return R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false})";
    if (begins) add("bos_token_id");
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    if (ends) add("eos_token_id");
    Json pair = single;
    pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
    return Json{
        {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}}
        .dump();
  }

  Json config() const {
    Json out = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
    for (const auto& [key, id_key] : {std::pair("bos_token", "bos_token_id"),
                                      {"eos_token", "eos_token_id"},
                                      {"pad_token", "padding_token_id"}})
      if (const auto token = id(id_key)) out[key] = tokens_[*token];
    if (const auto* text = file_.value("tokenizer.chat_template"); text != nullptr && text->is_string())
      out["chat_template"] = *text;
    return out;
  }

  const checkpoint::GgufFile& file_;
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> types_;
};

}  // namespace

std::optional<Tokenizer> tokenizer_of_gguf(const checkpoint::GgufFile& file) {
  if (file.value("tokenizer.ggml.model") == nullptr) return std::nullopt;
  return Words(file).tokenizer();
}

Json generation_of_gguf(const checkpoint::GgufFile& file) {
  Json out = Json::object();
  const Words words(file);
  if (const auto id = words.id("bos_token_id")) out["bos_token_id"] = *id;
  Json ends = Json::array();
  for (const char* key : {"eos_token_id", "eot_token_id"})
    if (const auto id = words.id(key); id && std::find(ends.begin(), ends.end(), Json(*id)) == ends.end())
      ends.push_back(*id);
  if (!ends.empty()) out["eos_token_id"] = ends.size() == 1 ? ends[0] : ends;
  if (const auto id = words.id("padding_token_id")) out["pad_token_id"] = *id;
  return out;
}

}  // namespace bora::run
