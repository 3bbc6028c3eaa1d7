// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// tokenizer.json (the format of Hugging Face `tokenizers`, version "1.0"):
//   {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [ADDED_TOKEN, ...],
//    "normalizer": NORMALIZER | null, "pre_tokenizer": PRE_TOKENIZER | null,
//    "post_processor": POST_PROCESSOR | null, "decoder": DECODER | null, "model": MODEL}
//   ADDED_TOKEN = {"id": ID, "content": STRING, "single_word": BOOL, "lstrip": BOOL, "rstrip": BOOL,
//                  "normalized": BOOL, "special": BOOL}
// Each component is an object with "type"; its members are written beside its code, those of "truncation" and
// "padding" in framing.h.
//
// tokenizer_config.json: {"bos_token": TOKEN, "eos_token": TOKEN, "pad_token": TOKEN, "unk_token": TOKEN,
// ...}
//   TOKEN = STRING | {"content": STRING, ...} | null; other members are kept as they are, but for
//   "chat_template", which is written to files (chat_templates.h).
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/tokenize/pipeline.h"

namespace bora::tokenize {

namespace {

template <class Component>
void write_component(std::string& out, std::string_view key, const Component* component) {
  out += fmt::format(",\"{}\":", key);
  if (component != nullptr)
    component->write(out);
  else
    out += "null";
}

}  // namespace

std::shared_ptr<Pipeline> read_pipeline(std::string_view tokenizer_json, const std::string& name) {
  const JsonDocument document(tokenizer_json, name);
  const JsonView root = document.root();
  if (const std::string version = root.string("version", "1.0"); version != "1.0") {
    fail(ErrorKind::Unsupported, "{}: version is {}; Bora reads \"1.0\"", name, json_string(version));
  }
  auto p = std::make_shared<Pipeline>();
  p->framing = Framing::read(root);
  if (const auto json = root.find("normalizer")) p->normalizer = read_normalizer(*json);
  if (const auto json = root.find("pre_tokenizer")) p->pre_tokenizer = read_pre_tokenizer(*json);
  p->model = read_model(root.at("model"), p->pre_tokenizer != nullptr && p->pre_tokenizer->ends_in_bytes());
  p->bytes = p->model->takes_bytes();
  p->added = AddedTokens::read(root.find("added_tokens"), p->model->vocabulary(), p->normalizer.get());
  p->post_processor = PostProcessor::read(root.find("post_processor"), p->vocab_size());
  if (const auto json = root.find("decoder")) p->decoder = read_decoder(*json);
  return p;
}

std::string Pipeline::json() const {
  std::string out = R"({"version":"1.0",)";
  framing.write(out);
  out += ",\"added_tokens\":";
  added.write(out);
  write_component(out, "normalizer", normalizer.get());
  write_component(out, "pre_tokenizer", pre_tokenizer.get());
  out += ",\"post_processor\":" + post_processor.json;
  write_component(out, "decoder", decoder.get());
  write_component(out, "model", model.get());
  out += "}\n";
  return out;
}

std::string config_json(const Pipeline& pipeline) {
  Json config = pipeline.config;
  config.erase("chat_template");  // it has a file of its own
  if (config.empty()) config["tokenizer_class"] = "PreTrainedTokenizerFast";
  const auto set = [&](const char* key, const std::optional<std::int32_t>& id) {
    if (id && !config.contains(key)) config[key] = *pipeline.token(*id);
  };
  set("bos_token", pipeline.bos);
  set("eos_token", pipeline.eos);
  set("pad_token", pipeline.pad);
  set("unk_token", pipeline.unk);
  if (!config.contains("clean_up_tokenization_spaces")) config["clean_up_tokenization_spaces"] = false;
  return config.dump(2) + "\n";
}

}  // namespace bora::tokenize
