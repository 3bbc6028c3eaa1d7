// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/speech_processor.h"

#include <fmt/ranges.h>

#include "bora/base/error.h"
#include "bora/data/record_text.h"
#include "bora/data/speech_dataset.h"

namespace bora::data {

SpeechProcessor::SpeechProcessor(Tokenizer tokenizer, Fields fields)
    : tokenizer_(std::move(tokenizer)), fields_(std::move(fields)) {
  const auto end = tokenizer_.eos_id();
  if (!end) {
    fail(ErrorKind::Config,
         "tokenizer: it has no end-of-text token, which ends what a model of speech writes\nhint: another "
         "data.tokenizer");
  }
  end_ = *end;
  const auto start = tokenizer_.id_of("<|startoftranscript|>");
  prompt_.push_back(start ? *start : tokenizer_.bos_id().value_or(end_));
  const auto add = [&](const char* key, const std::optional<std::string>& word) {
    if (!word) return;
    const auto token = fmt::format("<|{}|>", *word);
    const auto id = tokenizer_.id_of(token);
    if (!id) {
      fail(
          ErrorKind::Config,
          "format.{}: {}, but the tokenizer has no token {}\nhint: leave format.{} out, or take the tokenizer "
          "of a multilingual Whisper",
          key, *word, token, key);
    }
    prompt_.push_back(*id);
  };
  add("language", fields_.language);
  add("task", fields_.task);
  if (const auto id = tokenizer_.id_of("<|notimestamps|>")) prompt_.push_back(*id);
}

std::string SpeechProcessor::fingerprint() const {
  return fmt::format("{}; speech: [{}] \"{}\" [{}]", tokenizer_.fingerprint().hex(), fmt::join(prompt_, " "),
                     fields_.text, end_);
}

void SpeechProcessor::encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const {
  if (piece.begins_document) out.insert(out.end(), prompt_.begin(), prompt_.end());
  tokenizer_.encode_ids(piece.text, out, false, SpecialInText::Ordinary);
  if (piece.ends_document) out.push_back(end_);
}

void SpeechProcessor::encode_record(std::string_view json, store::EncodedRecord& out) const {
  const Json record = parse_record(json);
  (void)sound_path(record, fields_.audio);  // what cannot be heard is refused here
  const std::string& text = record_text(record, fields_.text, "text_key");
  encode({.text = text}, out.ids);
  out.ends.push_back(out.ids.size());
  out.text_bytes += static_cast<std::int64_t>(text.size());
}

}  // namespace bora::data
