// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/pipeline.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>

#include "bora/base/error.h"
#include "bora/base/log.h"

namespace bora::tokenize {

namespace {

/// The token a key of tokenizer_config.json names: a string, or an object with "content".
std::optional<std::string> configured_token(const Json& config, std::string_view key, std::string_view name) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object()) return json_get<std::string>(*found, "content", name);
  fail(ErrorKind::Corruption, "{}: {} should be a token but is {}", name, key, found->dump());
}

std::optional<std::int32_t> first_special(const Pipeline& p, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (const AddedToken* token = p.added.find(name)) return token->id;
  }
  return std::nullopt;
}

std::optional<std::int32_t> special_token(const Pipeline& p, std::string_view key,
                                          std::string_view config_name, std::optional<std::int32_t> guess) {
  if (!p.config.contains(key)) return guess;
  const auto token = configured_token(p.config, key, config_name);
  if (!token) return std::nullopt;
  const auto id = p.id_of(*token);
  if (!id)
    log_warning("{}: {} {} is not in the vocabulary; it is ignored", config_name, key, json_string(*token));
  return id;
}

std::vector<std::int32_t> count_bytes(const Pipeline& p) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(p.vocab_size()), 0);
  for (std::size_t id = 0; id < counts.size(); ++id) {
    const auto text = p.token(static_cast<std::int32_t>(id));
    if (!text || (p.added.is_special(*text) && !p.is_fallback(static_cast<std::int32_t>(id)))) continue;
    std::string bytes(*text);
    if (p.decoder != nullptr) bytes = p.decoder->alone(std::move(bytes));
    if (p.bpe != nullptr && bytes.ends_with(p.bpe->end_of_word_suffix()))  // decoders of bytes leave it there
      bytes.resize(bytes.size() - p.bpe->end_of_word_suffix().size());
    counts[id] = static_cast<std::int32_t>(bytes.size());
  }
  return counts;
}

std::vector<bool> control_ids(const Pipeline& p) {
  std::vector<bool> control(static_cast<std::size_t>(p.vocab_size()), false);
  for (const auto& [id, token] : p.added.all()) {
    control[static_cast<std::size_t>(id)] = p.added.is_special(token.content) && id != p.model->unk_id();
  }
  return control;
}

/// Several pieces may come from the first character of a text: ½ is written 1⁄2 by a normalizer, and then cut.
Pipeline::Tracks needed_tracks(const Pipeline& p) {
  using StartUse = PreTokenizer::StartUse;
  const StartUse use = p.pre_tokenizer != nullptr ? p.pre_tokenizer->start_use() : StartUse::None;
  if (use == StartUse::None) return Pipeline::Tracks::Never;
  if (use == StartUse::AfterRewriting) return Pipeline::Tracks::Always;
  const bool one_start = p.metaspace && !p.metaspace->words && !p.added.any(true);
  return one_start ? Pipeline::Tracks::DroppedStart : Pipeline::Tracks::Normalized;
}

}  // namespace

bool Pipeline::is_fallback(std::int32_t id) const {
  return model->vocabulary().has(id) && model->is_fallback(id);
}

void Pipeline::finish(std::string_view config_name) {
  static std::atomic<std::uint64_t> counter{0};
  number = counter += 2;
  if (pre_tokenizer != nullptr && bytes) rule = pre_tokenizer->scan_rule();
  if (pre_tokenizer != nullptr) metaspace = pre_tokenizer->metaspace_rule();
  tracks = needed_tracks(*this);
  bpe = dynamic_cast<const Bpe*>(model.get());
  auto begin = first_special(*this, {"<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "[CLS]"});
  const auto end = first_special(*this, {"<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "[SEP]"});
  if (!begin && added.all().size() == 1) begin = end;
  bos = special_token(*this, "bos_token", config_name, begin);
  eos = special_token(*this, "eos_token", config_name, end);
  pad = special_token(*this, "pad_token", config_name, first_special(*this, {"<pad>", "[PAD]", "<|pad|>"}));
  unk = special_token(*this, "unk_token", config_name, model->unk_id());
  bytes_per_token = count_bytes(*this);
  control = control_ids(*this);
  fingerprint = hash128(json());
}

const WholeWords& Pipeline::words() const {
  std::call_once(words_once_, [this] { words_ = find_whole_words(*this); });
  return words_;
}

std::int64_t Pipeline::vocab_size() const {
  const std::int64_t added_size = added.all().empty() ? 0 : added.all().rbegin()->first + std::int64_t{1};
  return std::max(model->vocabulary().size(), added_size);
}

std::optional<std::string_view> Pipeline::token(std::int32_t id) const {
  if (const AddedToken* token = added.find(id)) return token->content;
  if (model->vocabulary().has(id)) return model->vocabulary().text(id);
  return std::nullopt;
}

std::optional<std::int32_t> Pipeline::id_of(std::string_view token) const {
  if (const AddedToken* found = added.find(token)) return found->id;
  return model->vocabulary().find(token);
}

std::string Pipeline::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) {
    const auto text = token(id);
    if (text && !(skip_special && added.is_special(*text))) tokens.emplace_back(*text);
  }
  if (decoder != nullptr) decoder->apply(tokens);
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (decoder == nullptr && i > 0) out += ' ';
    out += tokens[i];
  }
  return out;
}

}  // namespace bora::tokenize
