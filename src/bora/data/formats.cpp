// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/formats.h"

#include <fmt/core.h>

#include <chrono>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/home_path.h"
#include "bora/data/chat_processor.h"
#include "bora/data/config.h"
#include "bora/data/prebuilt_processor.h"
#include "bora/data/speech_processor.h"
#include "bora/data/supervised_processor.h"
#include "bora/data/tokenizer_processor.h"

namespace bora::data {
namespace {

std::unique_ptr<store::Processor> make_chat(const ConversationFormat& format,
                                            std::vector<std::string> messages, bool single_turn,
                                            const DataConfig& data, const Tokenizer& tokenizer) {
  ChatProcessor::Options options;
  options.fields.messages = std::move(messages);
  options.fields.system_prompt = format.system_prompt;
  options.fields.template_kwargs = format.chat_template_kwargs;
  options.mask_user_turns = format.mask_user_turns;
  options.single_turn = single_turn;
  options.special_tokens = tokenizer.special_tokens();
  if (format.chat_date) options.date = parse_date(*format.chat_date);
  const auto given = format.chat_template ? format.chat_template : data.chat_template;
  return std::make_unique<ChatProcessor>(tokenizer, chat_templates(given, tokenizer, data.tokenizer_name()),
                                         std::move(options));
}

}  // namespace

store::TextFormat text_format(const FormatChoice& format) {
  store::TextFormat out;
  if (const auto* text = format.config.get_if<TextFormat>()) out.text_key = text->text_key;
  if (const auto* speech = format.config.get_if<SpeechFormat>()) out.text_key = speech->text_key;
  out.invalid_utf8 = store::parse_invalid_text(format->invalid_utf8);
  return out;
}

void TextFormat::bind(Binder& b) { b.field("text_key", text_key, "the field that holds the text"); }

std::unique_ptr<store::Processor> TextFormat::make(const DataConfig& data, const Tokenizer& tokenizer) const {
  return std::make_unique<TokenizerProcessor>(tokenizer, data.enforce_eos);
}

void ConversationFormat::bind_conversation(Binder& b) {
  b.field("chat_template", chat_template,
          "the template, as text or as a .jinja file; by default data.chat_template, else the tokenizer's");
  if (is_template_file(chat_template)) expand_home(b, "chat_template", *chat_template);
  b.field("chat_date", chat_date,
          "the date and time that templates show (strftime_now), as 2024-07-26 or 2024-07-26T18:30:00; "
          "without one, a template that needs it is an error");
  b.field("system_prompt", system_prompt, "a field whose text becomes the first message, role system");
  b.field("chat_template_kwargs", chat_template_kwargs, "a field with variables for the template");
  b.field("mask_user_turns", mask_user_turns, "only what the template encloses in {% generation %} counts");
}

void ConversationFormat::check(Binder& b) const {
  if (!chat_date || parse_date(*chat_date)) return;
  b.problem("chat_date",
            fmt::format("is {} but should be a date like 2024-07-26 or 2024-07-26T18:30:00", *chat_date));
}

void ChatFormat::bind(Binder& b) {
  b.field("messages_field", messages_field, "the field with the list of messages");
  b.field("single_turn", single_turn, "of several answers only the last counts");
  bind_conversation(b);
}

std::unique_ptr<store::Processor> ChatFormat::make(const DataConfig& data, const Tokenizer& tokenizer) const {
  return make_chat(*this, {messages_field}, single_turn, data, tokenizer);
}

void PreferenceFormat::bind(Binder& b) {
  b.field("chosen_field", chosen_field, "the preferred conversation");
  b.field("rejected_field", rejected_field, "the other one");
  bind_conversation(b);
}

void PreferenceFormat::check(Binder& b) const {
  ConversationFormat::check(b);
  if (is_concatenated() || pack_rules(1).max_segments != 1)
    b.problem("pack", "pairs are not packed; leave it out");
  if (slice_strategy && *slice_strategy != "raise")
    b.problem("slice_strategy", "a pair is never cut: raise is the only choice");
}

std::unique_ptr<store::Processor> PreferenceFormat::make(const DataConfig& data,
                                                         const Tokenizer& tokenizer) const {
  return make_chat(*this, {chosen_field, rejected_field}, false, data, tokenizer);
}

std::string PreferenceFormat::why_no_training() const {
  return "pairs can be cached and read; there is no training and no evaluation on them yet";
}

void SupervisedFormat::bind(Binder& b) {
  b.field("input_field", input_field, "the question");
  b.field("output_field", output_field, "the answer");
  b.field("separate_with", separate_with, "text between the two");
  b.field("mask_inputs", mask_inputs, "only the answer counts");
}

std::unique_ptr<store::Processor> SupervisedFormat::make(const DataConfig& data,
                                                         const Tokenizer& tokenizer) const {
  return std::make_unique<SupervisedProcessor>(
      TokenizerProcessor(tokenizer, data.enforce_eos),
      SupervisedProcessor::Fields{input_field, output_field, separate_with, mask_inputs});
}

void PrebuiltFormat::bind(Binder& b) {
  b.field("input_ids_key", input_ids_key, "the field with the list of token ids");
  b.field("loss_weights_key", loss_weights_key,
          "the field with how much each position counts, that is the prediction of the token after it; "
          "absent: 1");
}

std::unique_ptr<store::Processor> PrebuiltFormat::make(const DataConfig&, const Tokenizer& tokenizer) const {
  return make_for_ids(tokenizer.vocab_size());
}

std::unique_ptr<store::Processor> PrebuiltFormat::make_for_ids(std::int64_t vocab_size) const {
  return std::make_unique<PrebuiltProcessor>(vocab_size, input_ids_key, loss_weights_key);
}

void SpeechFormat::bind(Binder& b) {
  b.field(
      "audio_key", audio_key,
      "the field with the file of sound, WAV or FLAC; its path begins at the folder of the record's file");
  b.field("text_key", text_key, "the field with what is said");
  b.field("language", language, "of all records, as en: the token <|en|> before each text");
  b.field("task", task, "of all records: the token <|transcribe|> or <|translate|> before each text");
}

void SpeechFormat::check(Binder& b) const {
  if (is_concatenated() || pack_rules(1).max_segments != 1)
    b.problem("pack", "each text belongs to its sound: pad is the only choice");
  if (slice_strategy && *slice_strategy != "raise")
    b.problem("slice_strategy", "a text is never cut from its sound: raise is the only choice");
}

std::unique_ptr<store::Processor> SpeechFormat::make(const DataConfig&, const Tokenizer& tokenizer) const {
  return std::make_unique<SpeechProcessor>(tokenizer,
                                           SpeechProcessor::Fields{audio_key, text_key, language, task});
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t size) -> std::int64_t {
    std::int64_t out = 0;
    for (const char c : text.substr(at, size)) {
      if (c < '0' || c > '9') return -1;
      out = 10 * out + (c - '0');
    }
    return out;
  };
  const bool has_time = text.size() == 19;
  if (text.size() != 10 && !has_time) return {};
  if (text[4] != '-' || text[7] != '-') return {};
  if (has_time && (text[10] != 'T' || text[13] != ':' || text[16] != ':')) return {};
  const std::int64_t year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const std::int64_t hour = has_time ? number(11, 2) : 0, minute = has_time ? number(14, 2) : 0,
                     second = has_time ? number(17, 2) : 0;
  if (year < 0 || month < 1 || day < 1) return {};
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return {};
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<std::int64_t>(days) * 86'400 + hour * 3600 + minute * 60 + second;
}

}  // namespace bora::data
