// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>

#include "bora/store/processor.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::data {

/// Texts as a decoder of speech writes them: <|startoftranscript|>, <|language|> and <|task|> where they are
/// given, <|notimestamps|>, the text, the end of text. A tokenizer without the first begins texts with its
/// beginning-of-text token, else with the end of text; one without the last but one leaves it out.
class SpeechProcessor final : public store::Processor {
 public:
  struct Fields {
    std::string audio = "audio", text = "text";
    std::optional<std::string> language, task;
  };
  /// Errors: Config for a tokenizer without an end-of-text token, or without the token of the language or task.
  SpeechProcessor(Tokenizer tokenizer, Fields fields);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;
  bool takes_records() const override { return true; }
  void encode_record(std::string_view json, store::EncodedRecord& out) const override;

 private:
  Tokenizer tokenizer_;
  Fields fields_;
  std::vector<std::int32_t> prompt_;
  std::int32_t end_ = 0;
};

}  // namespace bora::data
