// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/run/gguf_tokenizer.h"

namespace bora::run {

std::string GgufWords::shown(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
}

void GgufWords::refuse(const std::string& what) const {
  fail(ErrorKind::Unsupported,
       "{}: GGUF: {}\nhint: import the Hugging Face directory of the model, which has the tokenizer itself",
       path(), what);
}

void GgufWords::wrong(const std::string& what) const {
  fail(ErrorKind::Corruption, "{}: GGUF: tokenizer.ggml.{}\nhint: fetch the file again, or write it anew",
       path(), what);
}

std::optional<std::size_t> GgufWords::id(const std::string& key) const {
  const auto* given = value(key);
  if (given == nullptr) return std::nullopt;
  const auto* tokens = value("tokens");
  const auto n = tokens != nullptr ? tokens->size() : 0;
  if (!given->is_number_integer() || *given < 0 || *given >= n)
    wrong(fmt::format("{} is {}, but there are {} tokens", key, shown(*given), n));
  return given->get<std::size_t>();
}

std::optional<std::size_t> GgufWords::id(const std::string& key, std::size_t otherwise) const {
  const auto* types = value("token_type");
  if (value(key) != nullptr || value("model") == nullptr || *value("model") != "llama") return id(key);
  if (types == nullptr || !types->is_array() || otherwise >= types->size()) return std::nullopt;
  return (*types)[otherwise] == kGgufControl ? std::optional(otherwise) : std::nullopt;
}

std::vector<std::string> GgufWords::texts(const std::string& key) const {
  const auto* given = value(key);
  std::vector<std::string> out;
  if (given == nullptr || !given->is_array())
    wrong(fmt::format("{} is {}, but must be a list of texts", key,
                      given == nullptr ? "missing" : shown(*given)));
  for (const auto& text : *given) {
    if (!text.is_string())
      wrong(fmt::format("{} has {} at {}, but must be a list of texts", key, shown(text), out.size()));
    out.push_back(text.get<std::string>());
  }
  return out;
}

bool GgufWords::flag(const std::string& key, bool otherwise) const {
  const auto* given = value(key);
  if (given == nullptr) return otherwise;
  if (!given->is_boolean()) wrong(fmt::format("{} is {}, but must be true or false", key, shown(*given)));
  return given->get<bool>();
}

std::vector<std::int32_t> GgufWords::types(const std::vector<std::string>& tokens,
                                           std::span<const std::int32_t> allowed,
                                           std::string_view whose) const {
  std::vector<std::int32_t> out(tokens.size(), kGgufNormal);
  const auto* given = value("token_type");
  if (given == nullptr) return out;
  if (!given->is_array() || given->size() != tokens.size())
    wrong(fmt::format("token_type has {} entries, but there are {} tokens", given->size(), tokens.size()));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& type = (*given)[i];
    if (std::none_of(allowed.begin(), allowed.end(), [&](auto kind) { return type == kind; }))
      refuse(fmt::format("tokenizer.ggml.token_type is {} for token {} ({}), which {} does not have",
                         shown(type), i, shown(tokens[i]), whose));
    out[i] = type.get<std::int32_t>();
  }
  return out;
}

std::string GgufWords::quoted(const std::string& text, std::string_view what, std::size_t i) const {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail(ErrorKind::Corruption, "{}: GGUF: {} {} is no UTF-8: {}", path(), what, i, shown(text));
  }
}

GgufWords::Frame GgufWords::frame(bool begins) const {
  const auto needed = [&](const char* key, std::size_t otherwise) {
    const auto token = id(key, otherwise);
    if (!token) wrong(fmt::format("{} is missing, though texts get that token", key));
    return token;
  };
  Frame out;
  if (flag("add_bos_token", begins)) out.begin = needed("bos_token_id", kUsualBegin);
  if (flag("add_eos_token", false)) out.end = needed("eos_token_id", kUsualEnd);
  return out;
}

std::string GgufWords::around(const std::vector<std::string>& tokens, const Frame& frame,
                              std::string plain) const {
  if (!frame.begin && !frame.end) return plain;
  Json single = Json::array(), special = Json::object();
  const auto add = [&](const std::optional<std::size_t>& token) {
    if (!token) return;
    const auto& text = tokens[*token];
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    special[text] = {{"id", text}, {"ids", {*token}}, {"tokens", {text}}};
  };
  add(frame.begin);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  add(frame.end);
  Json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return Json{{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}}
      .dump();
}

}  // namespace bora::run
