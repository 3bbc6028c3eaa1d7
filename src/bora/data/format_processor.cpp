// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/format_processor.h"

#include "bora/base/error.h"
#include "bora/data/chat_processor.h"
#include "bora/data/prebuilt_processor.h"
#include "bora/data/supervised_processor.h"

namespace bora::data {
namespace {

std::unique_ptr<store::Processor> chat(const FormatConfig& format, const DataConfig& config,
                                       const Tokenizer& tokenizer) {
  ChatProcessor::Options options;
  if (format.type == "preference_chat")
    options.fields.messages = {format.chosen_field, format.rejected_field};
  else
    options.fields.messages = {format.messages_field};
  options.fields.system_prompt = format.system_prompt;
  options.fields.template_kwargs = format.chat_template_kwargs;
  options.mask_user_turns = format.mask_user_turns;
  options.single_turn = format.single_turn && format.type == "chat";
  options.special_tokens = tokenizer.special_tokens();
  if (format.chat_date) options.date = parse_date(*format.chat_date);
  const auto given = format.chat_template ? format.chat_template : config.chat_template;
  return std::make_unique<ChatProcessor>(tokenizer, chat_templates(given, tokenizer, config.tokenizer),
                                         std::move(options));
}

}  // namespace

std::unique_ptr<store::Processor> make_processor(const FormatConfig& format, const DataConfig& config,
                                                 const Tokenizer& tokenizer) {
  if (format.type == "text") return std::make_unique<TokenizerProcessor>(tokenizer, config.enforce_eos);
  if (format.type == "prebuilt") {
    return std::make_unique<PrebuiltProcessor>(tokenizer.vocab_size(), format.input_ids_key,
                                               format.loss_weights_key);
  }
  if (format.type == "supervised") {
    return std::make_unique<SupervisedProcessor>(
        TokenizerProcessor(tokenizer, config.enforce_eos),
        SupervisedProcessor::Fields{format.input_field, format.output_field, format.separate_with,
                                    format.mask_inputs});
  }
  return chat(format, config, tokenizer);
}

std::unique_ptr<store::Processor> make_processor(const FormatConfig& format, const DataConfig& config) {
  if (format.type != "prebuilt") {
    fail(ErrorKind::Config,
         "data.tokenizer: passthrough is for prebuilt records, but these are {}\nhint: give a tokenizer",
         format.type);
  }
  if (!config.vocab_size) fail(ErrorKind::Config, "data.tokenizer: passthrough needs data.vocab_size");
  return std::make_unique<PrebuiltProcessor>(*config.vocab_size, format.input_ids_key,
                                             format.loss_weights_key);
}

}  // namespace bora::data
