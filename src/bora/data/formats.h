// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The formats that come with Bora, with Levanter's keys and defaults.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bora/data/format_config.h"
#include "bora/store/documents.h"

namespace bora::data {

/// A text in each record, or files of text.
struct TextFormat : FormatConfig {
  std::string text_key = "text";  ///< the field

  void bind(Binder& b);
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  Packing packing() const override { return {.documents = 0, .overlong = "left"}; }
};

/// What conversations have in common.
struct ConversationFormat : FormatConfig {
  /// Jinja, or a .jinja file; else data.chat_template, else the tokenizer's.
  std::optional<std::string> chat_template;
  std::optional<std::string> chat_date;                                      ///< what parse_date takes
  std::optional<std::string> system_prompt;                                  ///< the field that holds one
  std::optional<std::string> chat_template_kwargs = "chat_template_kwargs";  ///< the field that holds them
  bool mask_user_turns = true;  ///< only what the template marks as generated counts

  void check(Binder& b) const override;

 protected:
  void bind_conversation(Binder& b);
};

struct ChatFormat : ConversationFormat {
  std::string messages_field = "messages";
  bool single_turn = false;  ///< only the last answer counts

  void bind(Binder& b);
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  Packing packing() const override { return {.documents = kMostSegments, .overlong = "left"}; }
};

/// Pairs of conversations, of which one is preferred. (`type: preference_chat`)
struct PreferenceFormat : ConversationFormat {
  std::string chosen_field = "chosen", rejected_field = "rejected";

  void bind(Binder& b);
  void check(Binder& b) const override;
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  std::string why_no_training() const override;
};

/// A question with its answer.
struct SupervisedFormat : FormatConfig {
  std::string input_field = "prompt", output_field = "response";
  std::optional<std::string> separate_with;
  bool mask_inputs = true;

  void bind(Binder& b);
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  Packing packing() const override { return {.documents = kMostSegments, .overlong = "right"}; }
};

/// Token ids.
struct PrebuiltFormat : FormatConfig {
  std::string input_ids_key = "input_ids";
  std::optional<std::string> loss_weights_key;

  void bind(Binder& b);
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  std::unique_ptr<store::Processor> make_for_ids(std::int64_t vocab_size) const override;
};

/// A file of sound with its text, for models of speech. (`type: speech`)
struct SpeechFormat : FormatConfig {
  std::string audio_key = "audio", text_key = "text";
  std::optional<std::string> language, task;  ///< "en", "transcribe": tokens before each text

  void bind(Binder& b);
  void check(Binder& b) const override;
  std::unique_ptr<store::Processor> make(const DataConfig& data, const Tokenizer& tokenizer) const override;
  std::string sound_key() const override { return audio_key; }
};

/// How files of such records are read.
store::TextFormat text_format(const FormatChoice& format);

/// "2024-07-26" or "2024-07-26T18:30:00" in seconds since 1970-01-01, of no zone; nothing for another text.
std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace bora::data
